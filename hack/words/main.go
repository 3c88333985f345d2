// Command words keeps replaced words out of the repository: it reads words.tsv,
// and fails with each line of Go, shell and Markdown that still has one.
//
//	go run ./hack/words [-pending] [DIR]
//
// pending.txt lists the files and folders that are not done yet. A line of it that
// hides nothing is named, so that the list shrinks.
package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed words.tsv
var table string

//go:embed pending.txt
var pending string

func main() {
	list := flag.Bool("pending", false, "print the folders that have replaced words, and succeed")
	flag.Parse()
	dir := "."
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	if err := run(os.DirFS(dir), table, pending, *list, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// finding is one replaced word in one line.
type finding struct {
	file      string
	line      int
	word, use string
}

// run checks the files below root. It returns an error if any of them, outside
// of the pending paths, has a replaced word.
func run(root fs.FS, table, pending string, list bool, out io.Writer) error {
	words, err := parse(table)
	if err != nil {
		return err
	}
	found, err := words.check(root)
	if err != nil {
		return err
	}
	if list {
		folders := map[string]bool{}
		for _, f := range found {
			folders[path.Dir(f.file)+"/"] = true
		}
		for _, f := range slices.Sorted(maps.Keys(folders)) {
			fmt.Fprintln(out, f)
		}
		return nil
	}
	open, hidden := 0, map[string]bool{}
	paths := strings.Fields(pending)
	for _, f := range found {
		if i := slices.IndexFunc(paths, func(p string) bool { return covers(p, f.file) }); i >= 0 {
			hidden[paths[i]] = true
			continue
		}
		open++
		fmt.Fprintf(out, "%s:%d: %q is replaced by: %s\n", f.file, f.line, f.word, f.use)
	}
	for _, p := range paths {
		if !hidden[p] {
			fmt.Fprintf(out, "hack/words/pending.txt: %s has no replaced word: remove the line\n", p)
		}
	}
	if open > 0 {
		return fmt.Errorf("%d places with words that hack/words/words.tsv replaces", open)
	}
	return nil
}

// covers reports whether a pending path is that of the file, or of its folder;
// folders below it have lines of their own.
func covers(pending, file string) bool {
	return pending == file || pending == path.Dir(file)+"/"
}

// words are the replaced words, by kind, each with what to use instead.
type words struct{ prose, names, types map[string]string }

func parse(table string) (words, error) {
	w := words{prose: map[string]string{}, names: map[string]string{}, types: map[string]string{}}
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 3 {
			return w, fmt.Errorf("words.tsv: %q has not three cells", line)
		}
		switch cells[0] {
		case "prose":
			w.prose[cells[1]] = cells[2]
		case "name":
			w.names[strings.ToLower(cells[1])] = cells[2]
		case "type":
			w.types[cells[1]] = cells[2]
		default:
			return w, fmt.Errorf("words.tsv: %q is no kind of word", cells[0])
		}
	}
	return w, nil
}

func (w words) check(root fs.FS) ([]finding, error) {
	var out []finding
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name != "." && (name[0] == '.' || name == "testdata" || name == "words" || file == "bin" ||
				file == "dist") {
				return fs.SkipDir
			}
			return nil
		}
		content, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		switch path.Ext(file) {
		case ".go":
			if !generated.Match(content) {
				out = append(out, w.code(file, content)...)
			}
		case ".md", ".sh":
			out = append(out, w.lines(file, 1, string(content))...)
		}
		return nil
	})
	return out, err
}

var (
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	letters   = regexp.MustCompile(`[\pL\d_]+`)
)

// code checks the identifiers, comments and strings of a Go file.
func (w words) code(file string, content []byte) []finding {
	var out []finding
	files := token.NewFileSet()
	f := files.AddFile(file, files.Base(), len(content))
	var s scanner.Scanner
	s.Init(f, content, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return out
		case token.IDENT:
			if use := cmp.Or(w.types[text], w.names[strings.ToLower(text)]); use != "" {
				out = append(out, finding{file, f.Line(pos), text, use})
			}
		case token.COMMENT, token.STRING:
			out = append(out, w.lines(file, f.Line(pos), text)...)
		}
	}
}

// lines checks text that begins at a line of a file.
func (w words) lines(file string, first int, text string) []finding {
	var out []finding
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); first++ {
		for _, word := range letters.FindAllString(s.Text(), -1) {
			if use := w.prose[strings.ToLower(word)]; use != "" {
				out = append(out, finding{file, first, word, use})
			}
		}
	}
	return out
}
