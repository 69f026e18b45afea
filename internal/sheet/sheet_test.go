package sheet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// rows returns the header and all rows of a file.
func rows(file io.Reader, wanted ...string) (all [][]string, err error) {
	r, err := New(file, wanted...)
	if err != nil {
		return nil, err
	}
	all = append(all, r.Header())
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, slices.Clone(cells))
	}
}

func encodings() map[string]encoding.Encoding {
	return map[string]encoding.Encoding{
		"UTF-8": encoding.Nop, "UTF-8 with BOM": unicode.UTF8BOM, "Windows-1252": charmap.Windows1252,
		"UTF-16LE": unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "UTF-16BE": unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
	}
}

func TestEncodingsAndSeparatorsAreFound(t *testing.T) {
	for name, enc := range encodings() {
		for _, sep := range ",;\t|" {
			text := strings.ReplaceAll("number~First name~note\r\n4915~José €~\"a~ \"\"b\"\"\r\nsecond; line, more\"\n\n4916~~ ok\n", "~", string(sep))
			file, err := enc.NewEncoder().String(text)
			if err != nil {
				t.Fatal(err)
			}
			want := [][]string{{"number", "First name", "note"}, {"4915", "José €", "a" + string(sep) + " \"b\"\nsecond; line, more"}, {"4916", "", " ok"}}
			for how, reader := range map[string]io.Reader{"whole": strings.NewReader(file), "byte by byte": iotest.OneByteReader(strings.NewReader(file))} {
				if got, err := rows(reader, "number"); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s, separated by %q, %s: %q, %v", name, sep, how, got, err)
				}
			}
		}
	}
}

func TestSeparatorIsWhatMakesTheWantedColumns(t *testing.T) {
	for file, want := range map[string][]string{
		"Phone;Name, first\n1;a, b\n":    {"Phone", "Name, first"},
		"Phone, mobile;Name\n1, 2;a\n":   {"Phone, mobile;Name"}, // neither has the column
		"a|b;Phone\n1|2;3\n":             {"a|b", "Phone"},
		"Phone\n1;2\n":                   {"Phone"},
		"x;y;z,Phone\n1;2;3,4\n":         {"x;y;z", "Phone"},
		" Phone \t\"Last\nname \"\nx\ty": {"Phone", "Last\nname"},
	} {
		r, err := New(strings.NewReader(file), "Phone")
		if err != nil || len(want) > 1 && !reflect.DeepEqual(r.Header(), want) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func TestFirstLineMayNameTheSeparator(t *testing.T) {
	for name, enc := range encodings() {
		for _, first := range []string{"sep=;\r\n", "SEP=;\n", "\"sep=;\"\r\n"} {
			file, err := enc.NewEncoder().String(first + "number;a,b\n4915;1,5\n4916;x\"y\n")
			if err != nil {
				t.Fatal(err)
			}
			got, err := rows(iotest.OneByteReader(strings.NewReader(file)), "number")
			if want := [][]string{{"number", "a,b"}, {"4915", "1,5"}}; !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %q: %q, %v", name, first, got, err)
			}
			if want := `row 3, column "a,b", has a quote`; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s, %q: %v, want %s", name, first, err, want)
			}
		}
	}
	for file, want := range map[string]string{
		"sep=x\nnumber\n": `the file begins with "sep=x"; the separator must be`,
		"sep=;":           "", // a header
		"sep=;\n":         "the file is empty",
		"sep=; \nab;c":    "", // no separator is named by it
	} {
		_, err := rows(strings.NewReader(file))
		if want == "" && err != nil && strings.Contains(err.Error(), "begins with") || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v, want %s", file, err, want)
		}
	}
}

func TestBlankLinesAreNoRows(t *testing.T) {
	r, err := New(strings.NewReader("\n\r\n;;\nnumber;a\n\n;\n  ;\t\n1;\"x\n\ny\"\n\n2;z\n\n"), "number")
	if err != nil {
		t.Fatal(err)
	}
	for row, want := range []string{2: "1", 3: "2"} {
		if want == "" {
			continue
		}
		if cells, err := r.Read(); err != nil || cells[0] != want || r.Row() != row {
			t.Errorf("row %d is %q, %v; want row %d with %s", r.Row(), cells, err, row, want)
		}
	}
	if _, err := r.Read(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestUnreadableRowsAreNamed(t *testing.T) {
	long := strings.Repeat("x", MaxRow+4096)
	for name, row := range map[string]struct{ file, want string }{
		"a bare quote":         {"number,Name\n1,a\n2,b \"c\" d\n", `row 3, column "Name", has a quote, but does not begin with one`},
		"text after a quote":   {"number,Name\n\n\"1\"x,a\n", `row 2, column "number", has text after its closing quote`},
		"no closing quote":     {"number,Name\n1,\"a\nb\n2,c\n", `row 2, column "Name", has text after its closing quote, or no closing quote`},
		"quote over the limit": {"number,Name\n1,\"" + long, `row 2 is longer than 1024 KiB; a quote that is never closed`},
		"too many cells":       {"number,Name\n1,a\n2,b,c\n", "row 3 has 3 cells, and the header 2"},
		"too few cells":        {"number,Name\n1,a\n2\n", "row 3 has 1 cell, and the header 2"},
		"duplicate header":     {"number,Name, Name\n1,a,b\n", `row 1, column "Name", is there twice`},
		"NUL":                  {"number,Name\n1,a\x00\n", `row 2, column "Name", has the character U+0000`},
		"NUL in a column":      {"number,\n1,a\x00\n", `row 2, column "2", has the character U+0000`},
		"UTF-16 without BOM":   {"n\x00u\x00m\x00,\x00a\x00\n\x00", `row 1, column "1", has the character U+0000`},
		"mixed encodings":      {"number,Name\n1,é\n2,\xe9\n", `row 3, column "Name", has bytes that are not text`},
		"another code page":    {"number,Name\n1,\x93\xfa\x96\x7b\x8c\xea\x81\n", `row 2, column "Name", has bytes that are not text`},
		"CR alone":             {"number,Name\r1,a\r2,b\r", "row 1 ends with CR alone"},
		"a long line":          {"number,Name\n1," + long + "\n", "row 2 is longer than 1024 KiB"},
		"a long header":        {long + long, "row 1 is longer than 1024 KiB"},
		"many columns":         {strings.Repeat("a,", MaxColumns) + "b\n", "row 1 has more than 1024 columns"},
		"empty":                {"", "the file is empty; its first row must name the columns"},
		"a mark only":          {"\xef\xbb\xbf\n\n", "the file is empty"},
		"xlsx":                 {"PK\x03\x04\x14\x00\x06\x00", "the file is a spreadsheet as .xlsx, .ods or .xls; save it as CSV"},
		"xls":                  {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "save it as CSV"},
	} {
		_, err := rows(strings.NewReader(row.file), "number")
		if _, is := errors.AsType[*Error](err); !is || !strings.HasPrefix(err.Error(), row.want) && !strings.HasSuffix(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s", name, err, row.want)
		}
	}
}

func TestMissingColumnNamesThoseThatExist(t *testing.T) {
	r, err := New(strings.NewReader("Phone;First name;\n1;a;\n"), "number")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Column("number"); err == nil || err.Error() != `row 1 has no column "number"; it has "Phone", "First name", ""` {
		t.Error(err)
	}
	if i, err := r.Column("First name"); i != 1 || err != nil {
		t.Error(i, err)
	}
	if _, err := r.Column(""); err == nil {
		t.Error("a column without a name was found by it")
	}
}

// TestBrokenFileIsNoSyntaxError has a file that ends within what would be one.
func TestBrokenFileIsNoSyntaxError(t *testing.T) {
	broken := errors.New("broken")
	for _, text := range []string{"", "number,a\n1,\"b", "number,a\n1,\"b\nc", "number,a\n1,b\n2,c\"", "number,a\n1"} {
		for _, enc := range encodings() {
			file, err := enc.NewEncoder().String(text)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := rows(io.MultiReader(strings.NewReader(file), iotest.ErrReader(broken)), "number"); !errors.Is(err, broken) {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}

func TestHundredMegabyteLineTakesLittleMemory(t *testing.T) {
	endless := io.LimitReader(zeros('x'), 100<<20)
	allocated := testing.AllocsPerRun(1, func() {
		if _, err := rows(io.MultiReader(strings.NewReader("number,a\n1,"), endless)); err == nil {
			t.Error("it was accepted")
		}
	})
	if left, _ := io.Copy(io.Discard, endless); left == 0 || allocated > 500 {
		t.Errorf("%d bytes were left, %v allocations", left, allocated)
	}
}

// zeros is an endless file of one byte.
type zeros byte

func (z zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(z)
	}
	return len(p), nil
}

// FuzzReader writes what it read as every encoding and with every separator, and reads the same again.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{"number,Name\n1,Ana\n", "number;a\n1;\"x\ny\"\n\n2;é\n", "a\tb\r\n1\t\xe9\n", "\xff\xfen\x00,\x00a\x00\n\x001\x00,\x002\x00", "\"", "PK\x03\x04", "a|b\n\x00|"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		all, err := rows(bytes.NewReader(file), "number")
		byByte, again := rows(iotest.OneByteReader(bytes.NewReader(file)), "number")
		if (err == nil) != (again == nil) || !reflect.DeepEqual(all, byByte) {
			t.Fatalf("%q, %v byte by byte is %q, %v", all, err, byByte, again)
		}
		if err != nil || slices.Contains(all[0], "") || len(all[0]) < 2 {
			return
		}
		all[0][0] = "the number column" // wanted, and of no separator
		if slices.Contains(all[0][1:], all[0][0]) {
			return
		}
		for name, enc := range encodings() {
			for _, sep := range ",;\t|" {
				var text strings.Builder
				w := csv.NewWriter(&text)
				w.Comma = sep
				if err := w.WriteAll(all); err != nil {
					t.Fatal(err)
				}
				file, err := enc.NewEncoder().String(text.String())
				if err != nil || name == "Windows-1252" && utf8.ValidString(file) {
					continue // it has characters that the encoding lacks, or reads as UTF-8
				}
				got, err := rows(strings.NewReader(file), "the number column")
				if err != nil && !lossy(name, all) || err == nil && !reflect.DeepEqual(got, all) && !lossy(name, all) {
					t.Fatalf("%s, %q: %q reads as %q, %v; want %q", name, sep, file, got, err, all)
				}
			}
		}
	})
}

// lossy reports whether an encoding cannot hold the rows, or is not recognised because an early character of
// it looks like UTF-8.
func lossy(name string, all [][]string) bool {
	return name == "Windows-1252" || slices.ContainsFunc(all, func(cells []string) bool {
		return slices.ContainsFunc(cells, func(c string) bool {
			return strings.ContainsRune(c, utf8.RuneError) || strings.ContainsRune(c, '\ufeff') || strings.ContainsRune(c, '\r')
		})
	})
}
