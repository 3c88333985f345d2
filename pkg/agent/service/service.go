//go:build linux

package service

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Service is the service that clients use, as an agent is told. It names no member.
type Service struct {
	// Namespace and Name of the service.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Selector are the labels that all pods of members have, Label is the one with the name of the member.
	Selector map[string]string `json:"selector"`
	Label    string            `json:"label"`
	// Credentials is a directory with the files token and ca.crt.
	Credentials string `json:"credentials"`
	// Server is the URL of the API server; empty for the one that the environment of a pod names.
	Server string `json:"server,omitempty"`
}

// Check says what is missing.
func (s Service) Check() error {
	if s.Namespace == "" || s.Name == "" || len(s.Selector) == 0 || s.Label == "" || s.Credentials == "" {
		return errors.New("service needs namespace, name, selector, label and credentials")
	}
	return nil
}

// annotation holds the incarnation and the generation that wrote the selector.
const annotation = "dbop.dev/generation"

// found is what is read of a service.
type found struct {
	Metadata struct {
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Selector map[string]string `json:"selector"`
	} `json:"spec"`
}

// later says whether a later generation of the same incarnation wrote the selector: who is late must not undo it.
func (f found) later(token string, g protocol.Generation) bool {
	of, written, _ := strings.Cut(f.Metadata.Annotations[annotation], "/")
	n, err := strconv.ParseUint(written, 10, 64)
	return err == nil && of == token && protocol.Generation(n) > g
}

// refuse says that a generation is marked that can't be, and what takes the mark away.
func (s Service) refuse(g protocol.Generation) error {
	return fmt.Errorf("service %s bears a later generation than %d, which is this one: kubectl annotate service %s "+
		"-n %s %s-", s.Name, g, s.Name, s.Namespace, annotation)
}

// change is the patch after which the service selects a member and nobody else; nil if it does. It is conditional on
// what was read.
func (s Service) change(have found, member protocol.MemberID, token string, g protocol.Generation) map[string]any {
	wanted := maps.Clone(s.Selector)
	wanted[s.Label] = string(member)
	mark := fmt.Sprintf("%s/%d", token, g)
	if maps.Equal(have.Spec.Selector, wanted) && have.Metadata.Annotations[annotation] == mark {
		return nil
	}
	selector := map[string]any{}
	for name := range have.Spec.Selector {
		selector[name] = nil // in a merge patch, that takes it away
	}
	for name, value := range wanted {
		selector[name] = value
	}
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": have.Metadata.ResourceVersion,
			"annotations": map[string]any{annotation: mark}},
		"spec": map[string]any{"selector": selector},
	}
}
