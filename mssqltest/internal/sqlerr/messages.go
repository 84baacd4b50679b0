package sqlerr

// messages holds the errors that the stand-in raises. Texts that public clients match word for word keep SQL Server's
// wording; the others only say the same thing.
var messages = map[int32]message{
	102:  {class: 15, text: "Incorrect syntax near '%s'.", endsBatch: true},
	156:  {class: 15, text: "Incorrect syntax near the keyword '%s'.", endsBatch: true},
	207:  {class: 16, text: "Invalid column name '%s'.", endsBatch: true},
	208:  {class: 16, text: "Invalid object name '%s'.", endsBatch: true},
	2812: {class: 16, state: 62, text: "Could not find stored procedure '%s'."},
	1205: {class: 13, state: 51, text: "Transaction (Process ID %d) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.", endsBatch: true, doomsTran: true},
	1222: {class: 16, state: 51, text: "Lock request time out period exceeded."},
}
