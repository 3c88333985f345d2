package resp

import "fmt"

// Answers besides string, int and nil, which is an array that is not there.
type (
	// Simple is a word such as OK.
	Simple string
	// Error begins with a word in capital letters.
	Error string
	// List has elements of any kind.
	List []any
	// Map has keys, each before its value.
	Map []any
	// Push is told without a question: a message of a channel.
	Push []any
)

// Append writes an answer in version 2 or 3 of the protocol.
func Append(b []byte, answer any, version int) []byte {
	three := version == 3
	switch v := answer.(type) {
	case nil:
		if three {
			return append(b, "_\r\n"...)
		}
		return append(b, "*-1\r\n"...)
	case Simple:
		return fmt.Appendf(b, "+%s\r\n", v)
	case Error:
		return fmt.Appendf(b, "-%s\r\n", v)
	case int:
		return fmt.Appendf(b, ":%d\r\n", v)
	case string:
		return appendBulk(b, v)
	case List:
		return appendAll(fmt.Appendf(b, "*%d\r\n", len(v)), v, version)
	case Map:
		if three {
			return appendAll(fmt.Appendf(b, "%%%d\r\n", len(v)/2), v, version)
		}
		return Append(b, List(v), version)
	case Push:
		if three {
			return appendAll(fmt.Appendf(b, ">%d\r\n", len(v)), v, version)
		}
		return Append(b, List(v), version)
	}
	panic(fmt.Sprintf("resp: no answer is a %T", answer))
}

func appendAll(b []byte, all []any, version int) []byte {
	for _, v := range all {
		b = Append(b, v, version)
	}
	return b
}
