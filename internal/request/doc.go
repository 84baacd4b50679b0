// Package request sends one statement of ours and reads its answer: a Statement with typed parameters, and Each and Sets, which
// give its rows to functions and leave nothing open.
//
// It knows no tables. What is asked is the business of the packages that read: internal/catalog, changetable and snapshot.
package request
