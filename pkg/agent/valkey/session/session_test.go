package session

import (
	"bufio"
	"errors"
	"strings"
	"testing"
)

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sent, want, answered, left string }{
		"a word":                  {sent: "+OK\r\nmore", want: "OK", left: "more"},
		"a number":                {sent: ":12\r\n", want: "12"},
		"a string with line ends": {sent: "$4\r\na\r\nb\r\n", want: "a\r\nb"},
		"no string":               {sent: "$-1\r\n+OK\r\n", left: "+OK\r\n"},
		"a list":                  {sent: "*3\r\n$1\r\na\r\n:2\r\n*1\r\n+c\r\n", want: "a\n2\nc"},
		"no list":                 {sent: "*-1\r\n"},
		"an error":                {sent: "-ERR it fails\r\n+OK\r\n", answered: "ERR it fails", left: "+OK\r\n"},
		// It is read to its end: the next answer belongs to the next question.
		"an error in a list": {sent: "*2\r\n-ERR it fails\r\n+OK\r\nmore", want: "\nOK", left: "more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := bufio.NewReader(strings.NewReader(c.sent))
			got, err := readAnswer(in)
			var answered AnswerError
			if errors.As(err, &answered) != (c.answered != "") || string(answered) != c.answered {
				t.Fatalf("got the error %v, want %q", err, c.answered)
			}
			left, _ := in.Peek(in.Buffered())
			if got != c.want || string(left) != c.left {
				t.Errorf("got %q and %q is left, want %q and %q", got, left, c.want, c.left)
			}
		})
	}
}

func TestReadAnswerRefuses(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{
		"", "+OK", "\r\n", "$x\r\n", "$99999999\r\n", "$4\r\nab\r\n", "*x\r\n", "*2\r\n+OK\r\n", "HTTP/1.1\r\n",
	} {
		_, err := readAnswer(bufio.NewReader(strings.NewReader(sent)))
		var answered AnswerError
		if err == nil || errors.As(err, &answered) {
			t.Errorf("%q: got %v, want an error that ends the session", sent, err)
		}
	}
}

func FuzzReadAnswer(f *testing.F) {
	f.Add("*2\r\n$1\r\na\r\n-ERR\r\n")
	f.Fuzz(func(_ *testing.T, sent string) {
		_, _ = readAnswer(bufio.NewReader(strings.NewReader(sent)))
	})
}
