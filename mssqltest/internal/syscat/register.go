package syscat

import "example.com/mssqlcdc/mssqltest/internal/exec"

// Register adds the system views, functions and procedures to a registry.
func Register(reg *exec.Registry) {
	r := registrar{reg: reg, config: newConfiguration()}
	r.databaseViews()
	r.objectViews()
	r.columnViews()
	r.indexViews()
	r.constraintViews()
	r.principalViews()
	r.sessionViews()
	r.serverViews()
	r.infoViews()
	r.nameFunctions()
	r.propertyFunctions()
	r.securityFunctions()
	r.tableProcs()
	r.columnProcs()
	r.serverProcs()
	r.lockProcs()
	r.renameProcs()
	r.describeProcs()
	r.scriptProcs()
}
