package dump_test

import (
	"reflect"
	"testing"

	"postern/migrate/migratetest"
	"postern/migrate/table"
)

// TestTheTextOfPostgreSQLHasItsRows makes the text by the real pg_dump, in each of
// its ways.
func TestTheTextOfPostgreSQLHasItsRows(t *testing.T) {
	server := migratetest.StartPostgreSQL(t)
	server.Exec(t, `
CREATE TABLE "Message" (id serial PRIMARY KEY, "keyId" text, content jsonb, raw bytea, yes boolean, at timestamp, n bigint);
INSERT INTO "Message" ("keyId", content, raw, yes, at, n) VALUES
 (E'tab\there\nand; \\ it''s', '{"a": "b\nc"}', '\x00ff5c', true, '2026-01-02 03:04:05.678', -9223372036854775808),
 (NULL, NULL, NULL, NULL, NULL, NULL), ('', '[]', '', false, 'epoch', 0);
CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $body$ INSERT INTO "Message" ("keyId") VALUES ('x'); $body$;`)
	for _, options := range [][]string{{"--data-only"}, nil, {"--inserts"}, {"--column-inserts", "--data-only"}, {"--data-only", "--rows-per-insert=2"}} {
		if len(options) == 2 && options[1] == "--rows-per-insert=2" {
			options = append(options, "--column-inserts")
		}
		text := open(t, server.Dump(t, options...))
		var rows []*table.Row
		if err := text.Rows(t.Context(), "Message", func(r *table.Row) error {
			rows = append(rows, r)
			return nil
		}); err != nil {
			t.Fatalf("%v: %v", options, err)
		}
		if len(rows) != 3 {
			t.Fatalf("%v: %d rows", options, len(rows))
		}
		r := rows[0]
		if r.Text("keyId") != "tab\there\nand; \\ it's" || !reflect.DeepEqual(r.Bytes("raw"), []byte{0, 0xff, '\\'}) || !r.Bool("yes") || r.Int("n") != -9223372036854775808 ||
			r.Text("content") != `{"a": "b\nc"}` || r.Time("at").Format("2006-01-02T15:04:05.000Z07:00") != "2026-01-02T03:04:05.678Z" || r.Int("id") != 1 {
			t.Errorf("%v: %q", options, r.Values)
		}
		if r = rows[1]; !r.Null("keyId") || r.Bytes("raw") != nil || r.Int("n") != 0 || r.Bool("yes") || !r.Time("at").IsZero() {
			t.Errorf("%v: %q", options, r.Values)
		}
		if r = rows[2]; r.Null("keyId") || r.Bytes("raw") == nil || len(r.Bytes("raw")) != 0 || r.Time("at").Unix() != 0 {
			t.Errorf("%v: %q", options, r.Values)
		}
		for _, r := range rows {
			if r.Err() != nil {
				t.Errorf("%v: %v", options, r.Err())
			}
		}
	}
}
