package value

// RoundDecimal gives v, a decimal of type from, the scale of to, rounding half away from zero or cutting. Error 8115.
func RoundDecimal(v Value, from Type, scale uint8, round bool, to Type) (Value, error) {
	d, ok := v.dec().rescale(from.Scale, scale, round)
	if !ok || !d.fits(to.Prec) {
		return Value{}, errOverflow("numeric", to)
	}
	return d.value(scale), nil
}

// RoundTens rounds v, a decimal of type from, to a multiple of 10ⁿ, half away from zero or cutting; the scale of the
// result is 0. n is at most 37.
func RoundTens(v Value, from Type, n int, round bool) Value {
	shift := int(from.Scale) + n
	if shift > maxPrecision {
		return NewDecimal(false, 0, 0, 0)
	}
	d := v.dec().shrink(uint8(shift), round)
	d, ok := d.rescale(0, uint8(n), false)
	if !ok {
		return NewDecimal(false, 0, 0, 0)
	}
	return d.value(0)
}

// DivideDecimal divides v, a decimal of type from, by n that is not 0, and cuts to the scale of to. Error 8115.
func DivideDecimal(v Value, from Type, n int64, to Type) (Value, error) {
	z := scaleBig(v.dec().big(), int(to.Scale)-int(from.Scale), false)
	d, ok := decOfBig(z.Quo(z, decOf(n).big()))
	if !ok || !d.fits(to.Prec) {
		return Value{}, errOverflow("expression", to)
	}
	return d.value(to.Scale), nil
}
