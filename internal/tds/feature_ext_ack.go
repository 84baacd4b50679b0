package tds

// FeatureExtAck answers the features of a LOGIN7 (2.2.7.11 FEATUREEXTACK). A server may name only what was asked.
type FeatureExtAck []Feature

// Append writes the token.
func (a FeatureExtAck) Append(dst []byte) []byte {
	return appendFeatures(append(dst, byte(TokenFeatureExtAck)), a)
}

// Decode reads what follows the token byte.
func (a *FeatureExtAck) Decode(r *Reader) { *a = decodeFeatures(r) }

// Find gives the data of a feature, false if it was not acknowledged.
func (a FeatureExtAck) Find(id uint8) ([]byte, bool) {
	for _, f := range a {
		if f.ID == id {
			return f.Data, true
		}
	}
	return nil, false
}
