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

// Wish describes the file that a caller wants.
type Wish struct {
	Instance int64 // the owner: instances take turns
	Kind     event.MediaKind
	FileName string // for documents
	MimeType string // empty: as detected

	Convert bool              // make the video or the voice note of what ffmpeg reads
	Loops   bool              // a video that plays like a GIF, which may be one
	Pack    event.StickerPack // of a sticker
}

// Of returns the wish for the file of a message of an instance.
func Of(instance int64, m event.Media) Wish {
	return Wish{Instance: instance, Kind: m.Kind, FileName: m.FileName, MimeType: m.MimeType, Convert: m.Convert, Loops: m.GIF, Pack: m.Pack}
}

// accepted returns the types that WhatsApp's clients show for a kind. Audio of other
// types is converted; documents may be anything.
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

// unready reports whether a file of a type must be converted, or looked at: stickers have a size.
func (w Wish) unready(mimeType string) bool {
	types := accepted(w.Kind)
	return types != nil && !slices.Contains(types, mimeType) || w.Kind == event.MediaSticker ||
		w.Convert && (w.Kind == event.MediaVideo || w.Kind == event.MediaPTV)
}

// Prepare detects the type of a spooled file, checks it against the wish and makes it
// ready for sending. It waits for the instance's turn until ctx ends. It takes ownership
// of the file: an error removes it, and so does [Remove]. Errors caused by the caller
// wrap event.ErrMedia, or event.ErrMediaType if the file must be converted first.
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
		return f, fmt.Errorf("%w: the content is %s, not the mimetype %s", event.ErrMedia, f.MimeType, w.MimeType)
	}
	if w.unready(f.MimeType) {
		if err := l.convert(ctx, w, &f); err != nil {
			return f, err
		}
	}
	if w.Pack != (event.StickerPack{}) {
		if err := l.pack(&f, w.Pack); err != nil {
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

// documentType returns a document's type: as declared by the sender, else detected if
// plain, else by name.
func documentType(w Wish, found string) string {
	if w.MimeType != "" {
		return w.MimeType
	}
	if byName := mime.TypeByExtension(filepath.Ext(w.FileName)); byName != "" {
		return byName
	}
	return found
}

// describe sets what clients show before the download. Unknown properties are omitted;
// the message is valid without them.
func (l *Library) describe(ctx context.Context, instance int64, f *event.MediaFile) {
	read := describer(*f)
	if read == nil {
		return
	}
	err := l.look(ctx, instance, f.Path, func(file *meter) error { return read(file, f) })
	if err != nil && ctx.Err() == nil {
		l.cfg.Logger.Info("file sent without a preview", "instance_id", instance, "kind", f.Kind, "error", err)
	}
	if f.Kind == event.MediaVideo || f.Kind == event.MediaPTV {
		l.videoThumbnail(ctx, instance, f)
	}
}

// describer returns the function that describes a file, nil if there is none.
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
