// Package browser is what the tests of pages share: a Walk runs a script in a
// page and returns what it found, a Browser is driven step by step over the
// DevTools protocol. Both need a Chromium, and skip their test without one.
package browser
