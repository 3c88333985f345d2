// Command picture draws what a terminal showed as an SVG: lines of text with
// colours, from stdin to stdout. hack/picture.sh makes the one in the README
// by it, from a real run.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := draw(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

const (
	charWidth, lineHeight = 7.8, 17
	margin                = 16
	widest                = 118
)

func draw(in io.Reader, out io.Writer) error {
	var lines []string
	columns := 0
	for s := bufio.NewScanner(in); s.Scan(); {
		line := strings.TrimRight(s.Text(), " \r")
		columns = max(columns, len([]rune(plain(line))))
		lines = append(lines, line)
	}
	if columns == 0 {
		return errors.New("there is nothing to draw")
	}
	columns = min(columns, widest)
	width, height := int(float64(columns)*charWidth)+2*margin, len(lines)*lineHeight+2*margin
	fmt.Fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,monospace\" font-size=\"13\" fill=\"#d6deeb\">\n", width, height, width, height)
	fmt.Fprintf(out, "<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#0b1220\"/>\n")
	for i, line := range lines {
		if text := spans(line); text != "" {
			fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", margin, margin+(i+1)*lineHeight-4,
				text)
		}
	}
	_, err := fmt.Fprintln(out, "</svg>")
	return err
}

// spans makes coloured pieces of a line out of escape sequences, cut where the picture ends.
func spans(line string) string {
	var out strings.Builder
	style, left := "", widest
	for piece := range strings.SplitSeq(line, "\x1b[") {
		if code, rest, found := strings.Cut(piece, "m"); found && isCode(code) {
			style, piece = styleOf(code), rest
		}
		letters := []rune(piece)
		if len(letters) > left {
			letters = append(letters[:max(left-1, 0)], '…')
		}
		left -= len(letters)
		switch text := escape(string(letters)); {
		case text == "" || left < 0:
		case style == "":
			out.WriteString(text)
		default:
			fmt.Fprintf(&out, "<tspan %s>%s</tspan>", style, text)
		}
	}
	return out.String()
}

func isCode(s string) bool { return strings.Trim(s, "0123456789;") == "" }

// styleOf knows the few sequences that this project prints.
func styleOf(code string) string {
	var out []string
	for c := range strings.SplitSeq(code, ";") {
		switch c {
		case "1":
			out = append(out, `font-weight="bold"`)
		case "2", "90":
			out = append(out, `fill="#7f8ea3"`)
		case "31":
			out = append(out, `fill="#ff6b6b"`)
		case "32":
			out = append(out, `fill="#7bd88f"`)
		case "33":
			out = append(out, `fill="#ffd866"`)
		case "34", "36":
			out = append(out, `fill="#78c8ff"`)
		}
	}
	return strings.Join(out, " ")
}

// plain is a line without escape sequences.
func plain(line string) string {
	var out strings.Builder
	for i, piece := range strings.Split(line, "\x1b[") {
		if code, rest, found := strings.Cut(piece, "m"); i > 0 && found && isCode(code) {
			piece = rest
		}
		out.WriteString(piece)
	}
	return out.String()
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
