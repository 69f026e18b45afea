package migrate

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzWhatsmeow wants an error or accounts of any file that was a store, and no crash:
// what the pages and texts say is right, and what the rows say is not.
func FuzzWhatsmeow(f *testing.F) {
	raw, err := os.ReadFile(whatsmeowStore(f, annaDevice))
	if err != nil {
		f.Fatal(err)
	}
	random := rand.New(rand.NewPCG(4, 5))
	for range 60 {
		flipped := append([]byte(nil), raw...)
		for range 1 + random.IntN(8) {
			flipped[random.IntN(len(flipped))] ^= 1 << random.IntN(8)
		}
		f.Add(flipped)
	}
	const head = "BEGIN TRANSACTION;\nCREATE TABLE whatsmeow_version (version INTEGER, compat INTEGER);\nINSERT INTO whatsmeow_version VALUES(15,8);\n"
	f.Add([]byte(head + "CREATE TABLE whatsmeow_device (jid TEXT);\nINSERT INTO whatsmeow_device VALUES('1:2@s.whatsapp.net');\nCOMMIT;\n"))
	f.Add([]byte(head + "CREATE TABLE users (jid, token, name);\nINSERT INTO users VALUES(X'00', -1, NULL);\nCREATE TABLE whatsmeow_device (jid);\nINSERT INTO whatsmeow_device VALUES(1.5);\nCOMMIT;\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		o := options(path)
		o.Messages = true
		p, err := Whatsmeow(t.Context(), o)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("an error that says nothing")
			}
			return
		}
		defer p.Close()
		_ = p.Each(t.Context(), func(a *Account) error {
			if a.Device.JID() == "" || a.Import.Name == "" {
				t.Fatalf("%+v", a)
			}
			return nil
		})
	})
}
