package page

import (
	"testing"

	"postern/e2e/browser"
)

func TestZZFleet(t *testing.T) {
	result := browser.Walk(t, stage(t, "walk_fleet.js", "walk.js")+"/")
	for _, rule := range result.Found {
		t.Error(rule)
	}
	t.Log(result.Steps)
}
