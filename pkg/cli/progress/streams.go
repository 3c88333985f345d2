package progress

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Streams are the three standard streams and what is known of their ends.
// Results go to Out, everything said to a person goes to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// InTTY, OutTTY and ErrTTY say which ends are terminals.
	InTTY, OutTTY, ErrTTY bool
	// Size of the terminal in columns and lines; read again for every redraw.
	Size func() (width, height int)
}

// What is assumed where no terminal tells its size.
const (
	fallbackWidth  = 80
	fallbackHeight = 24
)

// StandardStreams are those of the process.
func StandardStreams() Streams {
	return Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY: isTerminal(os.Stdin), OutTTY: isTerminal(os.Stdout), ErrTTY: isTerminal(os.Stderr),
		Size: func() (int, int) {
			w, h, err := term.GetSize(descriptor(os.Stderr))
			if err != nil || w <= 0 || h <= 0 {
				return fallbackWidth, fallbackHeight
			}
			return w, h
		},
	}
}

// width is the terminal's.
func (s Streams) width() int {
	w, _ := s.Size()
	return w
}

// Raw hands every key to the far end; the returned function takes it back.
func (s Streams) Raw() (func(), error) {
	in, ok := s.In.(*os.File)
	if !ok {
		return nil, errors.New("standard input is no terminal")
	}
	before, err := term.MakeRaw(descriptor(in))
	if err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	return func() { _ = term.Restore(descriptor(in), before) }, nil
}

// LockedWriter keeps lines of the command, its reporter and the handler of
// signals from running into each other.
type LockedWriter struct {
	mu sync.Mutex
	W  io.Writer
}

func (l *LockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.W.Write(p)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(descriptor(f)) }

func descriptor(f *os.File) int { return int(f.Fd()) } // #nosec G115 -- a descriptor is a small number
