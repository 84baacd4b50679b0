package tds

import "encoding/binary"

// The feature ids of LOGIN7 and FEATUREEXTACK (2.2.6.4 LOGIN7, FeatureExt).
const (
	FeatureSessionRecovery    = 0x01
	FeatureFedAuth            = 0x02
	FeatureColumnEncryption   = 0x04
	FeatureGlobalTransactions = 0x05
	FeatureAzureSQLSupport    = 0x08
	FeatureDataClassification = 0x09
	FeatureUTF8Support        = 0x0A
	FeatureAzureSQLDNSCaching = 0x0B
	FeatureJSONSupport        = 0x0D
	FeatureVectorSupport      = 0x0E
	FeatureUserAgent          = 0x10
)

// featureEnd ends a list of features.
const featureEnd = 0xFF

// Feature is one entry of a feature list: a request in LOGIN7, an answer in FEATUREEXTACK.
type Feature struct {
	ID   uint8
	Data []byte
}

func appendFeatures(dst []byte, list []Feature) []byte {
	for _, f := range list {
		dst = binary.LittleEndian.AppendUint32(append(dst, f.ID), uint32(len(f.Data)))
		dst = append(dst, f.Data...)
	}
	return append(dst, featureEnd)
}

// decodeFeatures reads a list to its end byte. The data are copies.
func decodeFeatures(r *Reader) []Feature {
	var list []Feature
	for start := r.Offset(); ; r.within(start) {
		id := r.Uint8()
		if id == featureEnd || r.err != nil {
			return list
		}
		list = append(list, Feature{ID: id, Data: r.clone(int(r.Uint32()))})
	}
}
