package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"slices"

	"postern/event"
)

// Wish is what a caller wants a file to be.
type Wish struct {
	Instance int64 // whose file it is: instances take turns
	Kind     event.MediaKind
	FileName string // for documents
	MimeType string // empty: whatever the bytes say
}

// accepted are the types that WhatsApp's clients show for each kind. Audio of
// other types is converted, documents may be anything.
func accepted(k event.MediaKind) []string {
	switch k {
	case event.MediaImage:
		return []string{jpegType, pngType}
	case event.MediaVideo, event.MediaPTV:
		return []string{mp4Type, gp3Type}
	case event.MediaAudio:
		return []string{mp3Type, m4aType, aacType, amrType, opusType}
	case event.MediaVoice:
		return []string{opusType}
	case event.MediaSticker:
		return []string{webpType}
	default:
		return nil
	}
}

// Prepare finds out what a spooled file is, holds it against the wish, and
// makes it fit to be sent. It waits for its instance's turn as long as ctx
// lasts. It takes the file over: an error removes it, and so
// does [Remove]. Errors that are the caller's wrap event.ErrMedia, or
// event.ErrMediaType when the file would have to be converted first.
func (l *Library) Prepare(ctx context.Context, path string, w Wish) (f event.MediaFile, err error) {
	f = event.MediaFile{Path: path, MediaInfo: event.MediaInfo{Kind: w.Kind, FileName: w.FileName}}
	defer func() {
		if err != nil {
			Remove(f)
		}
	}()
	if f.MimeType, err = sniffFile(path); err != nil {
		return f, err
	}
	if w.Kind == event.MediaDocument {
		f.MimeType = documentType(w, f.MimeType)
	} else if w.MimeType != "" && !sameType(w.MimeType, f.MimeType) {
		return f, fmt.Errorf("%w: the bytes are %s, not %s as mimetype says", event.ErrMedia, f.MimeType, w.MimeType)
	}
	if types := accepted(w.Kind); types != nil && !slices.Contains(types, f.MimeType) {
		if err := l.convert(ctx, w.Instance, &f); err != nil {
			return f, err
		}
	}
	if l.describe(ctx, w.Instance, &f); ctx.Err() != nil {
		return f, late(ctx)
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		return f, fmt.Errorf("media: %w", err)
	}
	f.Size = info.Size()
	return f, nil
}

func sniffFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("media: %w", err)
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, sniffSize)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("media: read %s: %w", path, err)
	}
	return sniff(head[:n]), nil
}

// documentType is what a document says it is: by its sender, by its bytes if
// these are plain, by its name.
func documentType(w Wish, found string) string {
	if w.MimeType != "" {
		return w.MimeType
	}
	if byName := mime.TypeByExtension(filepath.Ext(w.FileName)); byName != "" {
		return byName
	}
	return found
}

// describe fills in what a screen shows before the download. What cannot be
// found out stays unknown: the message is right without it.
func (l *Library) describe(ctx context.Context, instance int64, f *event.MediaFile) {
	read := describer(*f)
	if read == nil {
		return
	}
	err := l.look(ctx, instance, f.Path, func(file *meter) error { return read(file, f) })
	if err != nil && ctx.Err() == nil {
		l.cfg.Logger.Info("a file is sent without what could be shown before it is opened", "instance_id", instance, "kind", f.Kind, "error", err)
	}
	if f.Kind == event.MediaVideo || f.Kind == event.MediaPTV {
		l.videoThumbnail(ctx, instance, f)
	}
}

// describer returns how a file is described, nil when there is nothing to say.
func describer(f event.MediaFile) func(*meter, *event.MediaFile) error {
	switch f.Kind {
	case event.MediaImage, event.MediaSticker:
		return describePicture
	case event.MediaVideo, event.MediaPTV:
		return describeVideo
	case event.MediaAudio, event.MediaVoice:
		if f.MimeType == opusType {
			return describeAudio
		}
	case event.MediaDocument:
		if t := plainType(f.MimeType); t == jpegType || t == pngType {
			return describePicture
		}
	}
	return nil
}
