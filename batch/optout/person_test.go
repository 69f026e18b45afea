package optout

import (
	"slices"
	"testing"
)

// TestFormsOfANumberAreOnePerson holds numbers of countries with two forms against each
// other, and against their neighbours.
func TestFormsOfANumberAreOnePerson(t *testing.T) {
	for _, same := range [][]string{
		{"551187654321", "5511987654321"},
		{"553166554433", "5531966554433"},
		{"525512345678", "5215512345678"},
		{"541123456789", "5491123456789"},
		{"4915112345678"},
		{"551123456789"},  // a landline number
		{"5511923456789"}, // another's mobile number
		{"5201512345678"}, // 0 behind the country code
	} {
		for _, number := range same {
			if got := canonical(number); got != same[0] {
				t.Errorf("%s is stored as %s, want %s", number, got, same[0])
			}
			if got := forms(number); !slices.Equal(got, same) {
				t.Errorf("%s has the forms %v, want %v", number, got, same)
			}
		}
	}
}

func TestContactsTellNumbersApart(t *testing.T) {
	seen := map[uint64]string{}
	for _, number := range []string{"1234567", "01234567", "12345670", "999999999999999"} {
		n := contactNumber(number)
		if other, again := seen[n]; again {
			t.Errorf("%s and %s have the same key", number, other)
		}
		seen[n] = number
	}
}
