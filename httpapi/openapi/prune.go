package openapi

import "strings"

// prune removes unreferenced components.
func prune(doc Object) {
	components := doc["components"].(Object)
	for {
		used := map[string]bool{}
		references(doc, used)
		removed := false
		for kind, part := range components {
			all, ok := part.(Object)
			if !ok || kind == "securitySchemes" {
				continue
			}
			for name := range all {
				if !used["#/components/"+kind+"/"+name] {
					delete(all, name)
					removed = true
				}
			}
		}
		if !removed {
			return
		}
	}
}

// references collects the references in a part of a document.
func references(part any, found map[string]bool) {
	switch part := part.(type) {
	case Object:
		for key, v := range part {
			if to, ok := v.(string); ok && (key == "$ref" || strings.HasPrefix(to, "#/components/")) {
				found[to] = true
			}
			references(v, found)
		}
	case []Object:
		for _, v := range part {
			references(v, found)
		}
	case []any:
		for _, v := range part {
			references(v, found)
		}
	}
}
