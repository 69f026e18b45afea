package httpapi

import (
	goflag "flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = goflag.Bool("update", false, "write routes.txt from the tables")

// pageOfRoutes returns routes.txt as the tables say it.
func pageOfRoutes() string {
	var page strings.Builder
	for _, r := range routes() {
		opens := "-"
		if need := r.Right.Needs(); len(need) > 0 {
			opens = strings.Trim(fmt.Sprint(need), "[]")
		}
		fmt.Fprintf(&page, "%-6s %-58s %-14s %s\n", r.Method, r.Path, authName(r.Auth), opens)
	}
	return page.String()
}

func TestRoutesPageListsEveryRoute(t *testing.T) {
	page := pageOfRoutes()
	if *update {
		if err := os.WriteFile("routes.txt", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if page != routesPage {
		t.Error("routes.txt is not what the tables say: run make docs")
	}
}
