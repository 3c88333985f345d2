package kube

import (
	"errors"
	"os"

	"k8s.io/client-go/tools/clientcmd"
)

// ConfigError says that there is no usable configuration of an API server.
type ConfigError struct {
	Reason string
	Err    error
}

func (e *ConfigError) Error() string {
	if e.Err != nil {
		return e.Reason + ": " + e.Err.Error()
	}
	return e.Reason
}

// Unwrap returns the loader's error.
func (e *ConfigError) Unwrap() error { return e.Err }

// Hint is what to try next.
func (e *ConfigError) Hint() string {
	return "choose one with --kubeconfig, KUBECONFIG or --context; kubectl config get-contexts lists what there is"
}

// ExplainConfig returns an error of loading a kubeconfig as a ConfigError; nil stays nil.
func ExplainConfig(err error) error {
	switch {
	case err == nil:
		return nil
	case clientcmd.IsEmptyConfig(err):
		return &ConfigError{Reason: "no kubeconfig was found, and this is not a pod"}
	case clientcmd.IsContextNotFound(err):
		return &ConfigError{Reason: "the context is not in the kubeconfig", Err: err}
	case errors.Is(err, os.ErrNotExist):
		return &ConfigError{Reason: "the kubeconfig can't be read", Err: err}
	default:
		return &ConfigError{Reason: "the kubeconfig can't be used", Err: err}
	}
}
