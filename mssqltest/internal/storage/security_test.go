package storage

import (
	"slices"
	"testing"
)

func TestLogins(t *testing.T) {
	s := NewSecurity()
	if err := s.CreateLogin(Login{Name: "sa"}, "secret"); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateLogin(Login{Name: "reader", DefaultDatabase: "shop"}, "p1"); err != nil {
		t.Fatal(err)
	}
	wantNumber(t, s.CreateLogin(Login{Name: "READER"}, ""), 15025)
	if !s.CheckPassword("SA", "secret") || s.CheckPassword("sa", "Secret") || s.CheckPassword("nobody", "") {
		t.Fatal("passwords")
	}
	if err := s.SetPassword("reader", "p2"); err != nil || s.CheckPassword("reader", "p1") || !s.CheckPassword("reader", "p2") {
		t.Fatal("changed password")
	}
	if err := s.AlterLogin("reader", func(l *Login) { l.Name, l.Disabled = "lector", true }); err != nil {
		t.Fatal(err)
	}
	l, ok := s.Login("Lector")
	if _, old := s.Login("reader"); !ok || old || !l.Disabled || l.DefaultDatabase != "shop" || !s.CheckPassword("lector", "p2") {
		t.Fatalf("%+v", l)
	}
	if sa, _ := s.Login("sa"); sa.ID != 1 || !sa.Sysadmin || len(s.Logins()) != 2 {
		t.Fatal("sa")
	}
	if err := s.DropLogin("lector"); err != nil {
		t.Fatal(err)
	}
	wantNumber(t, s.DropLogin("lector"), 15151)
	wantNumber(t, s.SetPassword("lector", ""), 15151)
}

func TestPrincipals(t *testing.T) {
	s := NewSecurity()
	const db = 5
	for _, name := range []string{"sa", "ann", "bob"} {
		if err := s.CreateLogin(Login{Name: name}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if u, ok := s.UserOf(db, "sa"); !ok || u.Name != "dbo" {
		t.Fatal("sa is dbo")
	}
	if u, ok := s.UserOf(db, "ann"); ok || u.Name != "guest" {
		t.Fatal("ann has no user")
	}
	if _, ok := s.UserOf(MasterID, "ann"); !ok {
		t.Fatal("everybody may enter master")
	}
	if _, ok := s.UserOf(db, "nobody"); ok {
		t.Fatal("an unknown login may enter")
	}
	ann, err := s.CreatePrincipal(db, Principal{Name: "ann_u", Type: "S", Login: "ann"})
	if err != nil || ann.DefaultSchema != "dbo" {
		t.Fatal(err)
	}
	_, err = s.CreatePrincipal(db, Principal{Name: "ANN_U", Type: "S"})
	wantNumber(t, err, 15023)
	_, err = s.CreatePrincipal(db, Principal{Name: "x", Type: "S", Login: "ann"})
	wantNumber(t, err, 15063)
	_, err = s.CreatePrincipal(db, Principal{Name: "x", Type: "S", Login: "nobody"})
	wantNumber(t, err, 15007)
	gate, err := s.CreatePrincipal(db, Principal{Name: "gate", Type: "R"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddMember(db, "gate", "ann_u"); err != nil {
		t.Fatal(err)
	}
	if err := s.AddMember(db, "db_datareader", "gate"); err != nil {
		t.Fatal(err)
	}
	wantNumber(t, s.AddMember(db, "ann_u", "gate"), 15151)
	if got := s.Roles(db, ann.ID); !slices.Equal(got, []int{PublicRole, ann.ID, gate.ID, 16390}) {
		t.Fatalf("roles %v", got)
	}
	if !s.IsMember(db, ann.ID, "DB_DataReader") || s.IsMember(db, ann.ID, "db_owner") || !s.IsMember(db, UserDBO, "db_owner") {
		t.Fatal("memberships")
	}

	allowed := func() (bool, bool) {
		return s.Allowed(db, s.Roles(db, ann.ID), ClassObject, 77, 0, "SELECT", "CONTROL")
	}
	if g, d := allowed(); g || d {
		t.Fatal("nothing was granted")
	}
	s.SetPermission(db, Permission{Class: ClassObject, Major: 77, Grantee: gate.ID, Name: "select", State: "G"})
	if g, d := allowed(); !g || d {
		t.Fatal("granted to the role")
	}
	s.SetPermission(db, Permission{Class: ClassObject, Major: 77, Grantee: PublicRole, Name: "SELECT", State: "D"})
	if g, d := allowed(); g || !d {
		t.Fatal("a denial wins")
	}
	s.RevokePermission(db, Permission{Class: ClassObject, Major: 77, Grantee: PublicRole, Name: "SELECT"})
	if g, _ := allowed(); !g || len(s.Permissions(db)) != 1 {
		t.Fatal("revoked")
	}
	if err := s.DropPrincipal(db, "gate"); err != nil || len(s.Permissions(db)) != 0 || len(s.Members(db)) != 1 {
		t.Fatal("a dropped role leaves something")
	}
	wantNumber(t, s.DropPrincipal(db, "db_owner"), 15150)
	wantNumber(t, s.DropPrincipal(db, "gate"), 15151)
	if err := s.AlterPrincipal(db, "ann_u", func(p *Principal) { p.Name = "anna" }); err != nil {
		t.Fatal(err)
	}
	if p, ok := s.Principal(db, "ANNA"); !ok || p.ID != ann.ID {
		t.Fatal("renamed user")
	}
}
