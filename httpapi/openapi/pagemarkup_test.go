package openapi

import (
	"reflect"
	"strings"
	"testing"
)

// TestNoTextIsMarkup puts one hostile text into every string that the page shows: the page must contain it as text,
// between tags and in attributes.
func TestNoTextIsMarkup(t *testing.T) {
	const hostile = `<b id="x" onclick='y'>&`
	var v pageView
	texts := fill(reflect.ValueOf(&v).Elem(), hostile)
	var w markupWriter
	w.page(v)
	page := strings.NewReplacer(pageStyle, "", pageScript, "").Replace(w.String())
	if strings.Contains(page, "<b ") || strings.Contains(page, `"x"`) || strings.Contains(page, "'y'") {
		t.Error("a text became markup")
	}
	if shown := strings.Count(page, "&lt;b id=&#34;x&#34; onclick=&#39;y&#39;&gt;&amp;"); shown < texts {
		t.Errorf("the page has %d texts and shows %d", texts, shown)
	}
	if strings.Contains(page, "%!") {
		t.Error("a format has not the arguments that it names")
	}
}

// fill sets every string below v, gives every slice one element and every
// pointer a value, and returns how many strings it set.
func fill(v reflect.Value, text string) int {
	texts := 0
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		texts = 1
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		texts = fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		texts = fill(v.Index(0), text)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() { // what is not exported is shown nowhere
				texts += fill(field, text)
			}
		}
	default:
		panic("a page view holds a " + v.Kind().String())
	}
	return texts
}
