// Package nearest finds the name that a misspelt word was meant as.
package nearest

import "strings"

// Of returns the candidate that is closest to word, for error messages
// that answer a misspelt name with the right one. It is the first of those
// with the fewest edits (Levenshtein distance in bytes), empty when there are
// no candidates. Only the first 64 bytes count, which bounds the work.
func Of(word string, candidates []string) string {
	best, least := "", -1
	for _, c := range candidates {
		if n := edits(word, c); least < 0 || n < least {
			best, least = c, n
		}
	}
	return best
}

// Meant is Of for a word that may have been meant as none of the candidates:
// ok is true when one of them begins with it, or becomes it by two edits or
// fewer (a swap of two letters is two), and by no more than half of its letters.
func Meant(word string, candidates []string) (nearest string, ok bool) {
	for _, c := range candidates {
		if len(word) > 1 && strings.HasPrefix(c, word) {
			return c, true
		}
	}
	nearest = Of(word, candidates)
	return nearest, edits(word, nearest) <= min(2, len(word)/2)
}

func edits(a, b string) int {
	const most = 64
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
