package pipeline

import (
	"os"
	"strings"
)

// LookupEnv gives the value that ${NAME} of a pipeline has: of the environment variable NAME, or, where that is not set, what the file
// holds that the variable NAME_FILE names, without the line feed at its end. So a secret that a container gets as a file need not
// stand in the environment. A file that cannot be read is told to warn, and the variable counts as not set.
func LookupEnv(name string, warn func(error)) (string, bool) {
	if v, ok := os.LookupEnv(name); ok {
		return v, true
	}
	file, ok := os.LookupEnv(name + "_FILE")
	if !ok || file == "" {
		return "", false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		warn(err) // it names the file, which is no secret
		return "", false
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), true
}
