// Package browser drives a Chromium for tests of pages: Walk runs a script in a page and
// returns its report, a Browser is driven step by step over the DevTools protocol. Both
// skip their test if there is no Chromium.
package browser
