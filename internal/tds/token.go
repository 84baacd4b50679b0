package tds

import "fmt"

// Token is the first byte of each item of a reply (2.2.7 Packet Data Token Stream Definition).
type Token uint8

// The tokens.
const (
	TokenOffset        Token = 0x78
	TokenReturnStatus  Token = 0x79
	TokenColMetaData   Token = 0x81
	TokenAltMetaData   Token = 0x88 // refused
	TokenTabName       Token = 0xA4
	TokenColInfo       Token = 0xA5
	TokenOrder         Token = 0xA9
	TokenError         Token = 0xAA
	TokenInfo          Token = 0xAB
	TokenReturnValue   Token = 0xAC
	TokenLoginAck      Token = 0xAD
	TokenFeatureExtAck Token = 0xAE
	TokenRow           Token = 0xD1
	TokenNBCRow        Token = 0xD2
	TokenAltRow        Token = 0xD3 // refused
	TokenEnvChange     Token = 0xE3
	TokenSessionState  Token = 0xE4
	TokenSSPI          Token = 0xED
	TokenFedAuthInfo   Token = 0xEE
	TokenDone          Token = 0xFD
	TokenDoneProc      Token = 0xFE
	TokenDoneInProc    Token = 0xFF
)

var tokenNames = map[Token]string{
	TokenOffset: "OFFSET", TokenReturnStatus: "RETURNSTATUS", TokenColMetaData: "COLMETADATA",
	TokenAltMetaData: "ALTMETADATA", TokenTabName: "TABNAME", TokenColInfo: "COLINFO", TokenOrder: "ORDER",
	TokenError: "ERROR", TokenInfo: "INFO", TokenReturnValue: "RETURNVALUE", TokenLoginAck: "LOGINACK",
	TokenFeatureExtAck: "FEATUREEXTACK", TokenRow: "ROW", TokenNBCRow: "NBCROW", TokenAltRow: "ALTROW",
	TokenEnvChange: "ENVCHANGE", TokenSessionState: "SESSIONSTATE", TokenSSPI: "SSPI",
	TokenFedAuthInfo: "FEDAUTHINFO", TokenDone: "DONE", TokenDoneProc: "DONEPROC", TokenDoneInProc: "DONEINPROC",
}

// String is the token's name in the specification.
func (t Token) String() string {
	if name, ok := tokenNames[t]; ok {
		return name
	}
	return fmt.Sprintf("token 0x%02X", uint8(t))
}
