package postgres

import (
	"reflect"
	"testing"
)

func TestRedactLeavesTheRest(t *testing.T) {
	for _, c := range [][2]string{
		{"postgres://u:secret@host/db?sslmode=require", "postgres://u:xxxxx@host/db?sslmode=require"},
		{"postgres://u:a%40b@host/db", "postgres://u:xxxxx@host/db"},
		{"postgres://u@host/db?password=secret&x=y", "postgres://u@host/db?password=xxxxx&x=y"},
		{"postgres://u@host:5432,other:5433/db", "postgres://u@host:5432,other:5433/db"},
		{"postgres://u:@host/db", "postgres://u:@host/db"},
	} {
		if got := Redact(c[0], c[0]); got != c[1] {
			t.Errorf("%s became %s, want %s", c[0], got, c[1])
		}
	}
}

func TestStandbyNamesAreRead(t *testing.T) {
	for _, c := range []struct {
		setting string
		want    []string
	}{
		{"", nil},
		{"  ", nil},
		{"*", []string{"*"}},
		{"a", []string{"a"}},
		{"a, b", []string{"a", "b"}},
		{"2 (a, b)", []string{"a", "b"}},
		{"FIRST 1 (a,\"b c\")", []string{"a", "b c"}},
		{"any 1 (a, b, c)", []string{"a", "b", "c"}},
		{`"x(1)", "y""z"`, []string{"x(1)", `y"z`}},
		{"ANY 1 (*)", []string{"*"}},
	} {
		if got := standbyNames(c.setting); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q names %q, want %q", c.setting, got, c.want)
		}
	}
}

func TestCutArraysAreErrors(t *testing.T) {
	whole := encode([][]byte{[]byte("one"), nil, {}})
	all, err := decodeArray(whole)
	if err != nil || !reflect.DeepEqual(all, [][]byte{[]byte("one"), nil, {}}) {
		t.Errorf("%q, error %v", all, err)
	}
	for n := range whole {
		if _, err := decodeArray(whole[:n]); err == nil {
			t.Errorf("an array of which %d of %d bytes are there is read", n, len(whole))
		}
	}
}
