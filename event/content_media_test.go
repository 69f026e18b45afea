package event

import "testing"

func TestFileNamesHaveNoFoldersOrControlCharacters(t *testing.T) {
	for given, want := range map[string]string{
		"list.pdf":              "list.pdf",
		"../../etc/passwd.png":  "passwd.png",
		`C:\\Users\\x\\a.pdf`:   "a.pdf",
		"a\r\nX-Evil: 1.png":    "aX-Evil: 1.png",
		"..":                    "",
		"/":                     "",
		"":                      "",
		"Ärger, 2. Mahnung.pdf": "Ärger, 2. Mahnung.pdf",

		"invoice\u202Egnp.exe":           "invoicegnp.exe",
		"\u2066a\u2069\u200e\u061c.pdf":  "a.pdf",
		"a\u2028b\u2029\ufeff\u00ad.pdf": "ab.pdf",
		"\u202e":                         "",
		"می\u200cروم.pdf":                "می\u200cروم.pdf",
		"👩\u200d💻.png":                   "👩\u200d💻.png",
	} {
		if got := CleanName(given); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
}
