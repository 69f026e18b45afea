package postgres

import (
	"fmt"
	"strings"
)

// tablesVersion is the version of the tables that this program makes and knows.
const tablesVersion = 1

// A table of few rows that change with each commit or renewal has room in its pages, so that
// an update stays in its page and needs no vacuum.
const tablesSQL = `create schema if not exists postern;

create table if not exists postern.program (
	only_row boolean primary key default true check (only_row),
	tables_version integer not null
);

create table if not exists postern.cell (
	name text collate "C" primary key,
	id text not null,
	epoch bigint not null default 0,
	version bigint not null default 0,
	stamp_ms bigint,
	released boolean not null default false,
	moved_out boolean not null default false
) with (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create table if not exists postern.lease (
	cell text collate "C" primary key,
	epoch bigint not null default 0,
	beat bigint not null default 0,
	released boolean not null default false,
	since timestamptz,
	node text, run text, address text, program text, role text, version bigint, lease_ms bigint, details text
) with (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create table if not exists postern.barrier (
	cell text collate "C" primary key,
	passed bigint not null default 0
) with (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create table if not exists postern.kv (
	cell text collate "C" not null,
	bucket text collate "C" not null,
	key bytea not null,
	value bytea not null,
	primary key (cell, bucket, key)
) with (
	fillfactor = 100, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000,
	autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_cost_delay = 0
);

create table if not exists postern.change_log (
	cell text collate "C" not null,
	version bigint not null,
	stamp_ms bigint,
	made timestamptz not null default clock_timestamp(),
	buckets text[] not null,
	keys bytea[] not null,
	contents bytea[] not null,
	primary key (cell, version)
) with (
	autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_insert_threshold = -1,
	autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000,
	toast.autovacuum_vacuum_insert_threshold = -1, toast.autovacuum_vacuum_cost_delay = 0
);
alter table postern.change_log alter column contents set storage external;

create table if not exists postern.member (
	cell text collate "C" not null,
	node text collate "C" not null,
	run text not null, address text not null, program text not null, role text not null,
	version bigint not null, lease_ms bigint not null, details text not null,
	seen timestamptz not null,
	primary key (cell, node)
) with (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create table if not exists postern.secret (
	cell text collate "C" not null,
	name text collate "C" not null,
	value bytea not null,
	primary key (cell, name)
);

insert into postern.program (tables_version) values (%d) on conflict do nothing;
`

// tables are those that the program reads and changes.
var tables = []string{"program", "cell", "lease", "barrier", "kv", "change_log", "member", "secret"}

// PrintSQL returns the statements that make the tables, for a user who may create them. The
// program's own user needs no more than the rights on them.
func PrintSQL() string { return fmt.Sprintf(tablesSQL, tablesVersion) + grants() }

// grants are comments, since the name of the program's user is not known.
func grants() string {
	qualified := make([]string, len(tables))
	for i, name := range tables {
		qualified[i] = "postern." + name
	}
	return "\n-- For a program's user that does not own the tables:\n" +
		"-- grant usage on schema postern to USER;\n" +
		"-- grant select, insert, update, delete on " + strings.Join(qualified, ", ") + " to USER;\n"
}
