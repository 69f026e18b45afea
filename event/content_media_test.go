package event

import "testing"

func TestAFileNameHasNeitherFoldersNorControlCharacters(t *testing.T) {
	for given, want := range map[string]string{
		"list.pdf":              "list.pdf",
		"../../etc/passwd.png":  "passwd.png",
		`C:\\Users\\x\\a.pdf`:   "a.pdf",
		"a\r\nX-Evil: 1.png":    "aX-Evil: 1.png",
		"..":                    "",
		"/":                     "",
		"":                      "",
		"Ärger, 2. Mahnung.pdf": "Ärger, 2. Mahnung.pdf",
	} {
		if got := CleanName(given); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
}
