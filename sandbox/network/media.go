package network

import (
	"go.mau.fi/whatsmeow"

	"postern/sandbox/network/mediahost"
)

// mediaFolder returns the media folder of a sandbox with this data file.
func mediaFolder(path string) string {
	if path == "" {
		return ""
	}
	return path + ".media"
}

// PutMedia stores encrypted media like an upload, and returns its URL and direct path.
func (s *Server) PutMedia(data []byte) (mediaURL, directPath string) {
	path := mediahost.Path(s.media.Put(data))
	return mediahost.URL(path), path
}

// SealMedia encrypts a file like a phone before its upload, and stores it.
func (s *Server) SealMedia(plain []byte, kind whatsmeow.MediaType) (mediahost.Sealed, error) {
	return s.media.Seal(plain, kind)
}

// PutPlain stores a file of a channel, which is not encrypted.
func (s *Server) PutPlain(data []byte) mediahost.Sealed { return s.media.PutPlain(data) }

// MediaUploaded returns the number of files that clients uploaded.
func (s *Server) MediaUploaded() int { return s.media.Taken() }

// Media returns the encrypted bytes at a direct path or a media URL.
func (s *Server) Media(path string) ([]byte, bool) { return s.media.File(path) }

// ForgetMedia removes the file at a direct path or a media URL, like WhatsApp after
// some weeks. Phones that have the file keep it.
func (s *Server) ForgetMedia(path string) { s.media.Forget(path) }

// LoseMedia removes a file like ForgetMedia, and also from the phones.
func (s *Server) LoseMedia(path string) { s.media.Lose(path) }

// UploadAgain makes a file, removed or not, available at a new path.
func (s *Server) UploadAgain(path string) (newPath string, ok bool) { return s.media.Again(path) }
