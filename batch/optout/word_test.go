package optout

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestWordsMatchInAnyScript holds texts against the word that they are, or are not.
func TestWordsMatchInAnyScript(t *testing.T) {
	for _, one := range []struct {
		word, text string
		same       bool
	}{
		{"stop", "STOP", true},
		{"stop", "  Stop \n", true},
		{"stop", "stóp", true},
		{"stop", "sto\u0301p", true},
		{"stop", "ＳＴＯＰ", true}, // full width
		{"stop", "\u200estop\u200f", true},
		{"stop", "stop it", false},
		{"stop", "sto p", false},
		{"stop", "nonstop", false},
		{"no more", "NO  \u00a0more", true},
		{"sair", "SAÍR", true},
		{"baixa", "Báixa", true},
		{"wypisz się", "WYPISZ SIE", true},
		{"wyłącz", "WYLACZ", true},
		{"çıkış", "ÇIKIŞ", true},
		{"iptal", "İPTAL", true},
		{"spaß", "SPASS", true},
		{"ΣΤΟΠ", "στοπ", true},
		{"στοπ", "στόπ", true},
		{"τέλος", "ΤΕΛΟΣ", true},
		{"стоп", "СТОП", true},
		{"отписаться", "ОТПИСАТЬСЯ", true},
		{"إلغاء", "الغاء", true},
		{"إلغاء", "إِلْغَاء", true},
		{"עצור", "עֲצוֹר", true},
		{"停止", "停止", true},
		{"停止", "停", false},
		{"ストップ", "ｽﾄｯﾌﾟ", true},
		{"パス", "バス", false},  // pass, bus: voicing is no accent
		{"बंद", "बद", false}, // closed, bad
		{"หยุด", "หยด", false},
		{"그만", "그만", true},
		{"dừng", "DUNG", true},
		{"🛑", "🛑\ufe0f", true},
	} {
		if got := Fold(one.text) == Fold(one.word); got != one.same {
			t.Errorf("%q is the word %q: %t, want %t (%q, %q)", one.text, one.word, got, one.same, Fold(one.text), Fold(one.word))
		}
	}
}

func TestPunctuationAroundAWordIsIgnored(t *testing.T) {
	for text, want := range map[string]string{
		"Stop.": "stop", "STOP!!!": "stop", "«stop»": "stop", "*stop*": "stop", "_Stop_.": "stop", "stop。": "stop", "stop…": "stop",
		"stop?": "stop?", "stop, now": "stop, now", "...": "",
	} {
		if got := bare(Fold(text)); got != want {
			t.Errorf("%q without punctuation is %q, want %q", text, got, want)
		}
	}
}

func TestWordsHaveBounds(t *testing.T) {
	long := strings.Repeat("ä", MaxWord)
	for _, one := range []struct {
		words []string
		rule  string
	}{
		{[]string{"stop", " sair "}, ""},
		{[]string{long}, ""},
		{make([]string, MaxWords+1), "at most 20"},
		{[]string{"stop", long + "a"}, "[1] has 65"},
		{[]string{" \t"}, "[0] has 0"},
		{[]string{"\u0301"}, "[0] has no visible"},
	} {
		if got := CheckWords(one.words); !strings.Contains(got, one.rule) || one.rule == "" && got != "" {
			t.Errorf("%.30q: %q, want %q", one.words, got, one.rule)
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"Stop", "ﬁ", "İ", "ẞ", "\u1e9b\u0323", "בּ", "ⅷ", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Fold(s)
		if !utf8.ValidString(once) && utf8.ValidString(s) {
			t.Errorf("%q folds to invalid %q", s, once)
		}
		if again := Fold(once); again != once {
			t.Errorf("%q folds to %q, and that to %q", s, once, again)
		}
		lower, capitals := strings.ToLower(s), strings.ToUpper(s)
		if upper := Fold(capitals); utf8.ValidString(s) && strings.ToLower(capitals) == lower && upper != once {
			t.Errorf("%q folds to %q, in capitals to %q", s, once, upper)
		}
	})
}
