// Package plural writes numbers with the noun that fits: 1 instance, 2 instances.
package plural

import (
	"fmt"
	"strings"
)

// Of is n and the noun: one as it is for 1, else its plural. That is one with an s at its
// end, or with the endings of English nouns in ch, sh, s and x, and in a consonant and y;
// other is for what follows neither, such as "is missing" and "are missing".
func Of[N ~int | ~int64 | ~uint64](n N, one string, other ...string) string {
	return fmt.Sprintf("%d %s", n, Noun(n, one, other...))
}

// Noun is Of without the number.
func Noun[N ~int | ~int64 | ~uint64](n N, one string, other ...string) string {
	switch {
	case n == 1:
		return one
	case len(other) > 0:
		return other[0]
	case strings.HasSuffix(one, "ch"), strings.HasSuffix(one, "sh"), strings.HasSuffix(one, "s"), strings.HasSuffix(one, "x"):
		return one + "es"
	case strings.HasSuffix(one, "y") && len(one) > 1 && !strings.ContainsRune("aeiou", rune(one[len(one)-2])):
		return one[:len(one)-1] + "ies"
	}
	return one + "s"
}
