package delivery

import (
	"slices"

	"postern/event"
)

// kinds holds each event at its number in the file, [event.Descriptor.Number].
var kinds = func() (all [256]event.Kind) {
	for _, d := range event.Catalogue() {
		all[d.Number] = d.Kind
	}
	return all
}()

// kindNumber returns the number of an event, 0 if there is no such event.
func kindNumber(k event.Kind) byte {
	d, _ := event.Lookup(k)
	return d.Number
}

// kindOf returns the event with a number; known is false if there is none.
func kindOf(number byte) (k event.Kind, known bool) {
	k = kinds[number]
	return k, k != ""
}

// states gives each state its number in the file; 0 is none.
var states = [...]State{"", Pending, Delivered, Failed, Dropped, Expired, Cancelled}

func stateNumber(s State) byte { return byte(max(0, slices.Index(states[:], s))) }

// stateOf returns the state with a number; known is false if there is none.
func stateOf(number byte) (s State, known bool) {
	if number == 0 || int(number) >= len(states) {
		return "", false
	}
	return states[number], true
}
