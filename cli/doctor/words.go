package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"postern/config"
)

// oneLine joins the lines of a text.
func oneLine(text string) string {
	return config.OneLine(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "; "))
}

// asItsUser is the advice if this command has fewer rights than the program.
const asItsUser = "run this command as the user that the program runs as"

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// mebibytes formats a size.
func mebibytes(n uint64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// few lists the first of many names.
func few(all []string) string {
	const most = 5
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}
