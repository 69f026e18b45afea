package app

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"postern/config"
	"postern/console/page"
	"postern/httpapi/instances"
)

// maxLogo is the maximum size of the operator's logo, in bytes.
const maxLogo = 512 << 10

// portal returns the appearance of the portal page.
func (a *App) portal() (p instances.Portal, err error) {
	c := a.cfg.Console
	p = instances.Portal{Page: page.Portal(), Title: c.Title, Accent: c.Accent}
	if c.LogoFile == "" {
		return p, nil
	}
	if p.Logo, p.LogoType, err = readLogo(c.LogoFile); err != nil {
		return p, config.Faulty(fmt.Errorf("console.logo_file: %w", err))
	}
	return p, nil
}

func readLogo(path string) (logo []byte, media string, err error) {
	f, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	if logo, err = io.ReadAll(io.LimitReader(f, maxLogo+1)); err != nil {
		return nil, "", err
	}
	if len(logo) > maxLogo {
		return nil, "", fmt.Errorf("%s has more than %d bytes", path, maxLogo)
	}
	switch media = http.DetectContentType(logo); {
	case media == "image/png", media == "image/jpeg", media == "image/webp":
		return logo, media, nil
	case strings.HasSuffix(strings.ToLower(path), ".svg") && bytes.Contains(logo, []byte("<svg")):
		return logo, "image/svg+xml", nil
	}
	return nil, "", fmt.Errorf("%s must be a PNG, JPEG, WebP or SVG image", path)
}
