package logfile

import (
	"bytes"
	"fmt"
	"strconv"
)

const (
	// keptArguments of a command are kept, and of each no more than keptBytes: enough to know marks.
	keptArguments = 3
	keptBytes     = 64
	// mostLine bounds a line such as "$12".
	mostLine = 32
	// mostBytes bounds one argument; the servers take 512 MB unless a person raises it.
	mostBytes = 4 << 30
	// mostArguments bounds a command.
	mostArguments = 1 << 31
)

// Scanner finds the ends of commands in a stream that it reads in pieces of any size.
type Scanner struct {
	line []byte
	// arguments are left of the command, payload and ending of the present argument.
	arguments, payload, ending int
	inside                     bool
	args                       [][]byte
	kept                       int
}

// Next reads up to the end of the command, or of the piece. It returns how many bytes it read, and whether the command
// is whole.
func (s *Scanner) Next(p []byte) (n int, whole bool, err error) {
	for n < len(p) {
		switch {
		case s.payload > 0:
			took := min(s.payload, len(p)-n)
			s.keep(p[n : n+took])
			s.payload -= took
			n += took
		case s.ending > 0:
			if want := "\n\r"[s.ending-1]; p[n] != want {
				return n, false, fmt.Errorf("read a command: %q where an argument ends", p[n])
			}
			s.ending--
			n++
			if s.ending == 0 {
				s.arguments--
			}
			if s.ending == 0 && s.arguments == 0 {
				s.inside = false
				return n, true, nil
			}
		default:
			i := bytes.IndexByte(p[n:], '\n')
			part := p[n:]
			if i >= 0 {
				part = p[n : n+i]
			}
			if len(s.line)+len(part) > mostLine {
				return n, false, fmt.Errorf("read a command: a line begins with %.20q", append(s.line, part...))
			}
			s.line = append(s.line, part...)
			n += len(part)
			if i < 0 {
				break
			}
			n++
			if err := s.head(); err != nil {
				return n, false, err
			}
		}
	}
	return n, false, nil
}

// head reads a line such as "*3" or "$12".
func (s *Scanner) head() error {
	line := s.line
	s.line = s.line[:0]
	kind, most := byte('*'), mostArguments
	if s.inside {
		kind, most = '$', mostBytes
	}
	text, ended := bytes.CutSuffix(line, []byte{'\r'})
	if !ended || len(text) < 2 || text[0] != kind {
		return fmt.Errorf("read a command: the line %q is not %q and a number", line, kind)
	}
	number, err := strconv.ParseUint(string(text[1:]), 10, 63)
	if err != nil || number > uint64(most) || !s.inside && number == 0 {
		return fmt.Errorf("read a command: the line %q is not %q and a number that may be", line, kind)
	}
	if s.inside {
		s.payload, s.ending = int(number), 2
		if s.kept++; s.kept <= keptArguments {
			s.args = append(s.args, nil)
		}
		return nil
	}
	s.inside, s.arguments = true, int(number)
	s.args, s.kept = s.args[:0], 0
	return nil
}

func (s *Scanner) keep(p []byte) {
	if s.kept > keptArguments {
		return
	}
	last := &s.args[len(s.args)-1]
	*last = append(*last, p[:min(len(p), keptBytes-len(*last))]...)
}

// Argument returns the beginning of an argument of the command that was read last; "" if it has none.
func (s *Scanner) Argument(i int) string {
	if i >= len(s.args) {
		return ""
	}
	return string(s.args[i])
}

// Between says that all commands are whole.
func (s *Scanner) Between() bool { return !s.inside && len(s.line) == 0 }
