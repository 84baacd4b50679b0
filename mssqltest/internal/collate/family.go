package collate

// family is a Windows collation designator: what stands before the version and the sensitivities.
type family struct {
	name     string
	lcid     uint32
	codePage int
	tailor   string // key of tailorings
}

// families lists the designators of sys.fn_helpcollations with their locale and code page ("Windows collation name").
var families = []family{
	{"Albanian", 0x041c, 1250, ""},
	{"Arabic", 0x0401, 1256, ""},
	{"Azeri_Cyrillic", 0x082c, 1251, ""},
	{"Azeri_Latin", 0x042c, 1254, "turkish"},
	{"Bashkir", 0x046d, 1251, ""},
	{"Bosnian_Cyrillic", 0x201a, 1251, ""},
	{"Bosnian_Latin", 0x141a, 1250, "croatian"},
	{"Breton", 0x047e, 1252, ""},
	{"Chinese_Hong_Kong_Stroke", 0x0c04, 950, "zh-stroke"},
	{"Chinese_PRC", 0x0804, 936, "zh-pinyin"},
	{"Chinese_PRC_Stroke", 0x20804, 936, "zh-stroke"},
	{"Chinese_Simplified_Pinyin", 0x0804, 936, "zh-pinyin"},
	{"Chinese_Simplified_Stroke_Order", 0x20804, 936, "zh-stroke"},
	{"Chinese_Taiwan_Bopomofo", 0x30404, 950, "zh-stroke"},
	{"Chinese_Taiwan_Stroke", 0x0404, 950, "zh-stroke"},
	{"Chinese_Traditional_Bopomofo", 0x30404, 950, "zh-stroke"},
	{"Chinese_Traditional_Pinyin", 0x21404, 950, "zh-pinyin"},
	{"Chinese_Traditional_Stroke_Count", 0x0404, 950, "zh-stroke"},
	{"Chinese_Traditional_Stroke_Order", 0x21404, 950, "zh-stroke"},
	{"Corsican", 0x0483, 1252, ""},
	{"Croatian", 0x041a, 1250, "croatian"},
	{"Cyrillic_General", 0x0419, 1251, ""},
	{"Czech", 0x0405, 1250, "czech"},
	{"Danish_Greenlandic", 0x0406, 1252, "danish"},
	{"Danish_Norwegian", 0x0406, 1252, "danish"},
	{"Dari", 0x048c, 1256, ""},
	{"Estonian", 0x0425, 1257, "estonian"},
	{"Finnish_Swedish", 0x040b, 1252, "swedish"},
	{"French", 0x040c, 1252, ""},
	{"Frisian", 0x0462, 1252, ""},
	{"Georgian_Modern_Sort", 0x10437, 1252, ""},
	{"German_PhoneBook", 0x10407, 1252, "phonebook"},
	{"Greek", 0x0408, 1253, ""},
	{"Hebrew", 0x040d, 1255, ""},
	{"Hungarian", 0x040e, 1250, "hungarian"},
	{"Hungarian_Technical", 0x1040e, 1250, "hungarian"},
	{"Icelandic", 0x040f, 1252, "icelandic"},
	{"Indic_General", 0x0439, 0, ""},
	{"Japanese", 0x0411, 932, ""},
	{"Japanese_Bushu_Kakusu", 0x20411, 932, ""},
	{"Japanese_Unicode", 0x10411, 932, ""},
	{"Japanese_XJIS", 0x0411, 932, ""},
	{"Kazakh", 0x043f, 1251, ""},
	{"Korean", 0x0412, 949, ""},
	{"Korean_Wansung", 0x0412, 949, ""},
	{"Korean_Wansung_Unicode", 0x0412, 949, ""},
	{"Latin1_General", 0x0409, 1252, ""},
	{"Latvian", 0x0426, 1257, "baltic"},
	{"Lithuanian", 0x0427, 1257, "baltic"},
	{"Macedonian_FYROM", 0x042f, 1251, ""},
	{"Maltese", 0x043a, 0, ""},
	{"Modern_Spanish", 0x0c0a, 1252, "spanish"},
	{"Norwegian", 0x0414, 1252, "danish"},
	{"Persian", 0x0429, 1256, ""},
	{"Polish", 0x0415, 1250, "polish"},
	{"Romanian", 0x0418, 1250, "romanian"},
	{"Serbian_Cyrillic", 0x0c1a, 1251, ""},
	{"Serbian_Latin", 0x081a, 1250, "croatian"},
	{"Slovak", 0x041b, 1250, "czech"},
	{"Slovenian", 0x0424, 1250, "croatian"},
	{"Tatar", 0x0444, 1251, ""},
	{"Thai", 0x041e, 874, ""},
	{"Traditional_Spanish", 0x040a, 1252, "spanish"},
	{"Turkish", 0x041f, 1254, "turkish"},
	{"Ukrainian", 0x0422, 1251, ""},
	{"Urdu", 0x0420, 1256, ""},
	{"Uzbek_Latin", 0x0443, 1254, "turkish"},
	{"Vietnamese", 0x042a, 1258, "vietnamese"},
	{"Welsh", 0x0452, 1252, ""},
}

// sqlFamily is an SQL_ collation without its sensitivities.
type sqlFamily struct {
	name     string
	lcid     uint32
	codePage int
	tailor   string
	// Sort orders, 0 where the combination does not exist.
	bin, csAS, ciAS, ciAI uint8
}

// sqlFamilies lists the SQL_ collations with their sort orders ("SQL Server collation name").
var sqlFamilies = []sqlFamily{
	{"SQL_Latin1_General_CP437", 0x0409, 437, "", 30, 31, 32, 34},
	{"SQL_Latin1_General_Pref_CP437", 0x0409, 437, "", 0, 0, 33, 0},
	{"SQL_Latin1_General_CP850", 0x0409, 850, "", 40, 41, 42, 44},
	{"SQL_Latin1_General_Pref_CP850", 0x0409, 850, "", 0, 0, 43, 0},
	{"SQL_1xCompat_CP850", 0x0409, 850, "", 0, 0, 49, 0},
	{"SQL_Latin1_General_CP1", 0x0409, 1252, "", 0, 51, 52, 54},
	{"SQL_Latin1_General_Pref_CP1", 0x0409, 1252, "", 0, 0, 53, 0},
	{"SQL_AltDiction_CP850", 0x0409, 850, "", 0, 55, 61, 57},
	{"SQL_AltDiction_Pref_CP850", 0x0409, 850, "", 0, 0, 56, 0},
	{"SQL_Scandinavian_CP850", 0x0406, 850, "danish", 0, 59, 60, 0},
	{"SQL_Scandinavian_Pref_CP850", 0x0406, 850, "danish", 0, 0, 58, 0},
	{"SQL_Latin1_General_CP1250", 0x0409, 1250, "", 0, 81, 82, 0},
	{"SQL_Czech_CP1250", 0x0405, 1250, "czech", 0, 83, 84, 0},
	{"SQL_Hungarian_CP1250", 0x040e, 1250, "hungarian", 0, 85, 86, 0},
	{"SQL_Polish_CP1250", 0x0415, 1250, "polish", 0, 87, 88, 0},
	{"SQL_Romanian_CP1250", 0x0418, 1250, "romanian", 0, 89, 90, 0},
	{"SQL_Croatian_CP1250", 0x041a, 1250, "croatian", 0, 91, 92, 0},
	{"SQL_Slovak_CP1250", 0x041b, 1250, "czech", 0, 93, 94, 0},
	{"SQL_Slovenian_CP1250", 0x0424, 1250, "croatian", 0, 95, 96, 0},
	{"SQL_Latin1_General_CP1251", 0x0419, 1251, "", 0, 105, 106, 0},
	{"SQL_Ukrainian_CP1251", 0x0422, 1251, "", 0, 107, 108, 0},
	{"SQL_Latin1_General_CP1253", 0x0408, 1253, "", 0, 113, 114, 124},
	{"SQL_MixDiction_CP1253", 0x0408, 1253, "", 0, 120, 0, 0},
	{"SQL_AltDiction_CP1253", 0x0408, 1253, "", 0, 121, 0, 0},
	{"SQL_Latin1_General_CP1254", 0x041f, 1254, "turkish", 0, 129, 130, 0},
	{"SQL_Latin1_General_CP1255", 0x040d, 1255, "", 0, 137, 138, 0},
	{"SQL_Latin1_General_CP1256", 0x0401, 1256, "", 0, 145, 146, 0},
	{"SQL_Latin1_General_CP1257", 0x0425, 1257, "", 0, 153, 154, 0},
	{"SQL_Estonian_CP1257", 0x0425, 1257, "estonian", 0, 155, 156, 0},
	{"SQL_Latvian_CP1257", 0x0426, 1257, "baltic", 0, 157, 158, 0},
	{"SQL_Lithuanian_CP1257", 0x0427, 1257, "baltic", 0, 159, 160, 0},
	{"SQL_Danish_Pref_CP1", 0x0406, 1252, "danish", 0, 0, 183, 0},
	{"SQL_SwedishPhone_Pref_CP1", 0x041d, 1252, "swedish", 0, 0, 184, 0},
	{"SQL_SwedishStd_Pref_CP1", 0x041d, 1252, "swedish", 0, 0, 185, 0},
	{"SQL_Icelandic_Pref_CP1", 0x040f, 1252, "icelandic", 0, 0, 186, 0},
}
