package docs

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"postern/batch"
	"postern/e2e/rig"
	"postern/httpapi"
)

const errorsIntro = `# Errors

This page is generated from the table in httpapi/codes.go by ` + "`make docs`" + `; tests fail when it is out of date and when the
program can answer with a code that has no row.

Every refusal has one body, whatever refused it:

` + "```json" + `
{
  "statusCode": 404,
  "error": "not-found",
  "code": "INSTANCE_NOT_FOUND",
  "messages": ["there is no such instance"],
  "message": ["there is no such instance"],
  "requestId": "0f4d7a52-6a3e-4c0e-9d5e-1f2a3b4c5d6e"
}
` + "```" + `

- ` + "`code`" + ` is what a program decides by; it does not change from one version to the next.
- ` + "`messages`" + ` is what a person reads: each entry names the field and its rule. ` + "`message`" + ` is the same array, for clients that
  look there.
- ` + "`requestId`" + ` is the x-request-id of the answer, and finds the request in the log.
- Every 503 has a Retry-After header with the seconds to wait.

Two refusals come before there is a request to answer, and are plain text: 400 for what is no HTTP, and 431 for headers over
32 KiB. A client that takes more than ten seconds for its headers is cut off without an answer.
`

// errorsPage is docs/errors.md.
func errorsPage() []byte {
	var page bytes.Buffer
	page.WriteString(errorsIntro)
	all := httpapi.Codes()
	slices.SortStableFunc(all, func(a, b httpapi.Code) int { return a.Status - b.Status })
	last := 0
	for _, c := range all {
		if c.Sandbox {
			continue
		}
		if c.Status != last {
			last = c.Status
			fmt.Fprintf(&page, "\n## %d %s\n\n| Code | What happened | What to do next | Retry-After |\n|---|---|---|---|\n", c.Status, http.StatusText(c.Status))
		}
		wait := "–"
		if c.RetryAfter > 0 {
			wait = strconv.Itoa(c.RetryAfter)
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", c.Code, c.Meaning, c.Next, wait)
	}
	page.WriteString("\n## Only under /sandbox/\n\nBesides these, the sandbox's paths use the codes above.\n\n| Code | Status | What happened | What to do next |\n|---|---|---|---|\n")
	for _, c := range all {
		if c.Sandbox {
			fmt.Fprintf(&page, "| `%s` | %d | %s | %s |\n", c.Code, c.Status, c.Meaning, c.Next)
		}
	}
	page.WriteString(itemsIntro)
	for _, c := range batch.ItemCodes() {
		inEvent := "–"
		if c.Event != "" {
			inEvent = "`" + c.Event + "`"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", c.Code, inEvent, c.Meaning, c.Next)
	}
	return page.Bytes()
}

const itemsIntro = `
## In the items of a batch

An item that did not end well has ` + "`lastErrorCode`" + `, and its event ` + "`data.error.code`" + `. While a limit or a restriction of its
instance puts an item off, it has the code that a request would get, from the tables above.

| Code | In the event | What happened | What to do next |
|---|---|---|---|
`

// TestTheErrorPageIsTheTableOfCodes also writes the page, with -update.
func TestTheErrorPageIsTheTableOfCodes(t *testing.T) {
	page, file := errorsPage(), filepath.Join("docs", "errors.md")
	if *rig.Update {
		if err := os.WriteFile(file, page, 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, page) {
		t.Errorf("%s is not what the table says (%v); run make docs", file, err)
	}
}
