package httpapi

import (
	goflag "flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = goflag.Bool("update", false, "write routes.txt from the tables")

func TestRoutesPageListsEveryRoute(t *testing.T) {
	var page strings.Builder
	for _, r := range routes() {
		opens := "-"
		if need := r.Right.Needs(); len(need) > 0 {
			opens = strings.Trim(fmt.Sprint(need), "[]")
		}
		fmt.Fprintf(&page, "%-6s %-58s %-14s %s\n", r.Method, r.Path, authName(r.Auth), opens)
	}
	if *update {
		if err := os.WriteFile("routes.txt", []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if page.String() != routesPage {
		t.Errorf("routes.txt is not what the tables say; write it with go test ./httpapi -run %s -update", t.Name())
	}
}
