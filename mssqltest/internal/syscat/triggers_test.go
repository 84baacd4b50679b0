package syscat

import "testing"

func TestTriggersInTheCatalog(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.p (id int PRIMARY KEY, v int)`)
	s.exec(`CREATE TRIGGER dbo.tr ON dbo.p FOR INSERT, DELETE AS SELECT 1`)
	s.exec(`CREATE TRIGGER dbo.tri ON dbo.p INSTEAD OF UPDATE NOT FOR REPLICATION AS SELECT 1`)
	s.exec(`DISABLE TRIGGER tri ON p`)
	s.want(`SELECT t.name, p.name, t.is_disabled, t.is_instead_of_trigger, t.is_not_for_replication FROM sys.triggers t JOIN sys.tables p ON p.object_id = t.parent_id ORDER BY t.name`,
		"tr|p|0|0|0", "tri|p|1|1|1")
	s.want(`SELECT t.name, e.type, e.type_desc FROM sys.trigger_events e JOIN sys.triggers t ON t.object_id = e.object_id ORDER BY 1, 2`,
		"tr|1|INSERT", "tr|3|DELETE", "tri|2|UPDATE")
	s.want(`SELECT type, OBJECT_NAME(parent_object_id) FROM sys.objects WHERE name = 'tr'`, "TR|p")
	s.want(`SELECT definition FROM sys.sql_modules WHERE object_id = OBJECT_ID('dbo.tr', 'TR')`, "CREATE TRIGGER dbo.tr ON dbo.p FOR INSERT, DELETE AS SELECT 1")
	s.want(`SELECT OBJECTPROPERTY(OBJECT_ID('tr'), 'ExecIsInsertTrigger'), OBJECTPROPERTY(OBJECT_ID('tr'), 'ExecIsUpdateTrigger'),
		OBJECTPROPERTY(OBJECT_ID('tri'), 'ExecIsTriggerDisabled'), OBJECTPROPERTY(OBJECT_ID('tri'), 'ExecIsInsteadOfTrigger'), OBJECTPROPERTY(OBJECT_ID('tr'), 'IsTrigger')`, "1|0|1|1|1")
	s.want(`SELECT OBJECTPROPERTY(OBJECT_ID('p'), 'TableHasDeleteTrigger'), OBJECTPROPERTY(OBJECT_ID('p'), 'TableInsertTriggerCount'), OBJECTPROPERTY(OBJECT_ID('p'), 'TableHasUpdateTrigger')`, "1|1|0")
	s.exec(`DROP TABLE dbo.p`)
	s.want(`SELECT COUNT(*) FROM sys.triggers`, "0")
}

func TestSequencesInTheCatalog(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE SEQUENCE dbo.sq AS smallint START WITH 3 INCREMENT BY 2 MAXVALUE 9`)
	s.want(`SELECT NEXT VALUE FOR sq`, "3")
	s.want(`SELECT NEXT VALUE FOR sq`, "5")
	s.want(`SELECT name, type, CAST(start_value AS int), CAST(current_value AS int), CAST(maximum_value AS int), TYPE_NAME(user_type_id) FROM sys.sequences`, "sq|SO|3|5|9|smallint")
}
