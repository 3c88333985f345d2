package harness

import "testing"

func TestCompare(t *testing.T) {
	same := map[string]string{"a": "1", "b": "2"}
	if n, err := compare(same, map[string]string{"a": "1", "b": "2"}); err != nil || n != 2 {
		t.Errorf("equal maps: %d, %v", n, err)
	}
	for _, other := range []map[string]string{{"a": "1"}, {"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "3"}} {
		if _, err := compare(same, other); err == nil {
			t.Errorf("%v and %v count as equal", same, other)
		}
	}
}
