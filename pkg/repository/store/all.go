package store

import (
	"context"
	"iter"
)

// All walks every object under a prefix, a page a request. After an error it ends.
func All(ctx context.Context, s Store, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		token := ""
		for {
			page, err := s.List(ctx, prefix, token)
			if err != nil {
				yield(Object{}, err)
				return
			}
			for _, o := range page.Objects {
				if !yield(o, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			token = page.Next
		}
	}
}
