package command

// displayName is how people call this program, and completer how kubectl does
// when it wants suggestions.
const (
	DisplayName = "kubectl dbop"
	Completer   = "kubectl_complete-dbop"
)

// HelperRepository is where releases publish the image of this tool.
const HelperRepository = "ghcr.io/dbop-dev/kubectl-dbop"

// The environment variables that stand in for flags.
const (
	EnvRegistry    = "DBOP_REGISTRY"
	EnvHelperImage = "DBOP_HELPER_IMAGE"
	EnvRepository  = "DBOP_REPOSITORY"
)
