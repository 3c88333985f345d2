package ops

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// ParseRepository reads the URL of a repository; a directory must be absolute.
func ParseRepository(url string) (repository.Location, error) {
	at, err := repository.ParseLocation(url)
	if err == nil && at.Kind == repository.KindDirectory {
		_, err = repository.NewDirectory(at.Path)
	}
	if err != nil {
		return at, &Error{Kind: Refused, Check: "repository", Message: fmt.Sprintf("%q is no repository", url),
			Hint: "name one as dir:/path, pvc:claim, or by its name in the namespace", Err: err}
	}
	return at, nil
}
