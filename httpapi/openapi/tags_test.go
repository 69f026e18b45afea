package openapi

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTagsDescribeAField(t *testing.T) {
	type tagged struct {
		Plain  int               `json:"plain"`
		Text   *string           `json:"text" doc:"A \"text\"." example:"42" rules:"null,format=uri,maxLength=9"`
		Shared string            `json:"shared" doc:"Shared." example:"$uuid"`
		Number int64             `json:"number" doc:"Number." example:"42" rules:"minimum=0,enum=42|43"`
		List   []string          `json:"list" doc:"List." example:"a,$uuid" rules:"minItems=1"`
		None   []string          `json:"none" doc:"Empty." example:""`
		Object map[string]string `json:"object" doc:"Object."`
	}
	want := []Field{
		{About: `A "text".`, Example: "42", Rules: Object{mayBeNull: true, "format": "uri", "maxLength": 9}},
		{About: "Shared.", Example: "6f1c", Rules: Object{}},
		{About: "Number.", Example: 42.0, Rules: Object{"minimum": 0, "enum": []any{42.0, 43.0}}},
		{About: "List.", Example: []any{"a", "6f1c"}, Rules: Object{"minItems": 1}},
		{About: "Empty.", Example: []any{}, Rules: Object{}},
		{About: "Object.", Rules: Object{}},
	}
	var got []Field
	for f := range reflect.TypeFor[tagged]().Fields() {
		if field, ok := fieldOf(f, map[string]string{"uuid": "6f1c"}); ok {
			got = append(got, field)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
