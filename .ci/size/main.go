// Size prints what takes the room in a Linux program made by Go, stripped or not: by
// feature, by module or by package.
//
// Machine code and its tables (names, lines, stack maps) are counted exactly, from the
// runtime's own table of functions; a table that several functions share counts for the
// first. Types, strings and tables of data have no owner in a stripped program; they are
// printed by section.
package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"maps"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	by := flag.String("by", "feature", "`owner` of the rows: feature, module or package")
	least := flag.Int("least", 50_000, "owners with fewer `bytes` are one row")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: go run ./.ci/size [-by feature|module|package] [-least bytes] program")
	}
	if err := run(flag.Arg(0), *by, *least); err != nil {
		log.Fatal(err)
	}
}

// room is what one owner takes, in bytes.
type room struct{ code, tables int }

func run(path, by string, least int) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	t, err := readTables(f)
	if err != nil {
		return err
	}
	owner, ok := map[string]func(string) string{
		"feature": featureOf,
		"module":  func(pkg string) string { return moduleOf(info, pkg) },
		"package": func(pkg string) string { return pkg },
	}[by]
	if !ok {
		return fmt.Errorf("-by must be feature, module or package: %.40q", by)
	}
	rooms := map[string]room{}
	for pkg, r := range t.byPackage() {
		o := owner(pkg)
		rooms[o] = room{rooms[o].code + r.code, rooms[o].tables + r.tables}
	}
	report(f, rooms, least)
	return nil
}

func report(f *elf.File, rooms map[string]room, least int) {
	var all, few room
	fmt.Println("| | Code | Its tables | Together |\n|---|---|---|---|")
	row := func(name string, r room) {
		fmt.Printf("| %s | %d KB | %d KB | %d KB |\n", name, r.code/1000, r.tables/1000, (r.code+r.tables)/1000)
	}
	names := slices.SortedFunc(maps.Keys(rooms), func(a, b string) int {
		return cmp.Compare(rooms[b].code+rooms[b].tables, rooms[a].code+rooms[a].tables)
	})
	for _, name := range names {
		r := rooms[name]
		all = room{all.code + r.code, all.tables + r.tables}
		if r.code+r.tables < least {
			few = room{few.code + r.code, few.tables + r.tables}
			continue
		}
		row(name, r)
	}
	row("others", few)
	row("all", all)
	fmt.Println("\n| Section | |\n|---|---|")
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS && s.Size >= 10_000 {
			fmt.Printf("| %s | %d KB |\n", s.Name, s.Size/1000)
		}
	}
}

// moduleOf returns the module of a package; the standard library counts as one.
func moduleOf(info *buildinfo.BuildInfo, pkg string) string {
	best := ""
	for _, m := range append(info.Deps, &info.Main) {
		if (pkg == m.Path || strings.HasPrefix(pkg, m.Path+"/")) && len(m.Path) > len(best) {
			best = m.Path
		}
	}
	switch {
	case best != "":
		return best
	case pkg == "main":
		return info.Main.Path
	}
	return "Go"
}

// tables is the runtime's table of functions, as runtime/symtab.go and
// cmd/link/internal/ld/pcln.go describe it.
type tables struct {
	line             []byte // .gopclntab
	names, pcs, funs []byte // parts of it
	count            int    // of functions
}

const magic = 0xfffffff1 // of Go 1.20 and later

func readTables(f *elf.File) (*tables, error) {
	s := f.Section(".gopclntab")
	if s == nil {
		return nil, fmt.Errorf("no .gopclntab: not a Go program for Linux")
	}
	line, err := s.Data()
	if err != nil {
		return nil, err
	}
	if len(line) < 72 || binary.LittleEndian.Uint32(line) != magic || line[7] != 8 {
		return nil, fmt.Errorf("the table of functions has an unknown format")
	}
	word := func(i int) int { return int(binary.LittleEndian.Uint64(line[8+8*i:])) }
	return &tables{line: line, count: word(0), names: line[word(3):], pcs: line[word(6):], funs: line[word(7):]}, nil
}

func (t *tables) u32(at int) int { return int(binary.LittleEndian.Uint32(t.funs[at:])) }

// byPackage counts code and tables of all functions.
func (t *tables) byPackage() map[string]room {
	rooms, seen := map[string]room{}, map[int]bool{}
	pcTable := func(at int) int {
		if at == 0 || seen[at] {
			return 0
		}
		seen[at] = true
		return pcTableLen(t.pcs[at:])
	}
	stackMaps := t.stackMaps()
	for i := range t.count {
		at := t.u32(8*i + 4)
		name := t.names[t.u32(at+4):]
		name = name[:bytes.IndexByte(name, 0)]
		npc, nfun := t.u32(at+28), int(t.funs[at+43])
		size := 8 + 44 + 4*(npc+nfun) + len(name) + 1
		for _, field := range []int{16, 20, 24} { // pcsp, pcfile, pcln
			size += pcTable(t.u32(at + field))
		}
		for j := range npc {
			size += pcTable(t.u32(at + 44 + 4*j))
		}
		for j := range nfun {
			offset := t.u32(at + 44 + 4*(npc+j))
			size += stackMaps[offset]
			delete(stackMaps, offset)
		}
		pkg := packageOf(string(name))
		rooms[pkg] = room{rooms[pkg].code + t.u32(8*i+8) - t.u32(8*i), rooms[pkg].tables + size}
	}
	return rooms
}

// stackMaps are the lengths of what functions refer to in go:func.*, by offset:
// each reaches to where the next begins.
func (t *tables) stackMaps() map[int]int {
	lengths := map[int]int{}
	for i := range t.count {
		at := t.u32(8*i + 4)
		npc, nfun := t.u32(at+28), int(t.funs[at+43])
		for j := range nfun {
			if offset := t.u32(at + 44 + 4*(npc+j)); offset != 1<<32-1 {
				lengths[offset] = 0
			}
		}
	}
	offsets := slices.Sorted(maps.Keys(lengths))
	for i, o := range offsets[:max(0, len(offsets)-1)] {
		lengths[o] = offsets[i+1] - o
	}
	return lengths
}

// pcTableLen is the length of a table of pairs of varints, which ends with a
// zero where a value should stand.
func pcTableLen(b []byte) int {
	n := 0
	for first := true; ; first = false {
		value, width := binary.Uvarint(b[n:])
		n += width
		if value == 0 && !first {
			return n
		}
		_, width = binary.Uvarint(b[n:])
		n += width
	}
}

// packageOf is the package of a function's name; that of an instance of a
// generic function is where the function stands.
func packageOf(name string) string {
	name, _, _ = strings.Cut(name, "[")
	for _, made := range []string{"type:.eq.", "type:.hash."} {
		name = strings.TrimPrefix(name, made)
	}
	name = strings.TrimLeft(name, "*(")
	slash := strings.LastIndexByte(name, '/') + 1
	pkg, _, _ := strings.Cut(name[slash:], ".")
	return strings.ReplaceAll(name[:slash]+pkg, "%2e", ".")
}
