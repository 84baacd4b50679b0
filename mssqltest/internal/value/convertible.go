package value

// convertible says whether from converts to to without being asked, and whether with CAST (the chart of "CAST and CONVERT").
func convertible(from, to Type) (implicit, explicit bool) {
	f, t := from.ID.family(), to.ID.family()
	switch {
	case f == famNone:
		return true, true
	case f == famCLR || t == famCLR:
		return clrConvertible(from, to)
	case from.ID == to.ID:
		return true, true
	case t == famVariant:
		ok := !from.IsLOB() && from.ID != RowVersion
		return ok, ok
	case f == famVariant:
		return false, !to.IsLOB() && to.ID != RowVersion
	case t == famXML:
		ok := f == famText || f == famLOBText || f == famBinary && from.ID != RowVersion
		return ok, ok
	case f == famXML:
		return false, t == famText || t == famBinary && to.ID != RowVersion
	case t == famLOBText || f == famLOBText:
		ok := (f == famText || f == famLOBText) && (t == famText || t == famLOBText)
		return ok, ok
	case t == famImage || f == famImage:
		ok := f == famBinary || t == famBinary
		return ok, ok
	}
	switch f {
	case famInt, famDecimal, famMoney, famFloat:
		return numberConvertible(f, t)
	case famText:
		return t != famBinary, true
	case famBinary:
		return binaryConvertible(from, to, t)
	case famGUID:
		ok := t == famText || t == famBinary && to.ID != RowVersion
		return ok, ok
	case famDateTime:
		switch t {
		case famText, famDateTime, famNewDateTime:
			return true, true
		}
		return false, t != famGUID
	case famNewDateTime:
		switch {
		case t == famText, t == famDateTime:
			return true, true
		case t == famNewDateTime:
			ok := !(from.ID == Date && to.ID == Time || from.ID == Time && to.ID == Date)
			return ok, ok
		}
		return false, t == famBinary && to.ID != RowVersion
	}
	return false, false
}

func numberConvertible(f, t family) (implicit, explicit bool) {
	switch t {
	case famInt, famDecimal, famMoney, famFloat, famDateTime:
		return true, true
	case famText:
		return f != famMoney, true
	case famBinary:
		return f != famFloat, true
	}
	return false, false
}

func binaryConvertible(from, to Type, t family) (implicit, explicit bool) {
	switch t {
	case famText:
		ok := from.ID != RowVersion || !to.IsUnicode()
		return ok, ok
	case famFloat:
		return false, false
	case famNewDateTime:
		return false, from.ID != RowVersion
	case famGUID:
		return from.ID != RowVersion, from.ID != RowVersion
	}
	return true, true
}

func clrConvertible(from, to Type) (implicit, explicit bool) {
	if from.ID == to.ID {
		ok := from.Name == to.Name
		return ok, ok
	}
	if to.ID == CLR {
		if from.ID.family() == famText {
			return to.Name == hierarchyID, to.Name == hierarchyID
		}
		ok := from.ID.family() == famBinary && from.ID != RowVersion || from.ID == Image
		return ok, ok
	}
	ok := to.ID == VarBinary || to.ID == Binary || to.ID == Image || to.ID.family() == famText && from.Name == hierarchyID
	return false, ok
}
