/* A publisher, in the manner of scripts of the nineties: sp_addtype, rules in checks, triggers that roll back. */
GO
set nocount on
set dateformat mdy
USE master
declare @dttm varchar(55)
select @dttm = convert(varchar, getdate(), 113)
raiserror('Beginning at %s ....', 1, 1, @dttm) with nowait
if exists (select * from sysdatabases where name = 'press')
begin
	raiserror('Dropping existing press database ....', 0, 1)
	DROP database press
end
GO
CREATE DATABASE press
GO
USE press
GO
execute sp_addtype id, 'varchar(11)', 'NOT NULL'
execute sp_addtype staffid, 'char(9)', 'NOT NULL'
GO
CREATE TABLE writers
(
	w_id       id
		CHECK (w_id like '[0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][0-9][0-9]')
		CONSTRAINT UPKCL_w PRIMARY KEY CLUSTERED,
	w_name     varchar(40)   NOT NULL,
	phone      char(12)      NOT NULL DEFAULT ('UNKNOWN'),
	zip        char(5)       NULL CHECK (zip like '[0-9][0-9][0-9][0-9][0-9]'),
	contract   bit           NOT NULL
)
GO
CREATE TABLE jobs
(
	job_id   smallint     IDENTITY(1,1) PRIMARY KEY CLUSTERED,
	job_desc varchar(50)  NOT NULL DEFAULT 'New Position - title not formalized yet',
	min_lvl  tinyint      NOT NULL CHECK (min_lvl >= 10),
	max_lvl  tinyint      NOT NULL CHECK (max_lvl <= 250)
)
GO
CREATE TABLE staff
(
	s_id      staffid
		CONSTRAINT PK_s PRIMARY KEY NONCLUSTERED
		CONSTRAINT CK_s CHECK (s_id LIKE '[A-Z][A-Z][A-Z][1-9][0-9][0-9][0-9][0-9][FM]'),
	job_id    smallint NOT NULL DEFAULT 1 REFERENCES jobs(job_id),
	job_lvl   tinyint DEFAULT 10,
	hired     datetime NOT NULL DEFAULT (getdate())
)
GO
CREATE TRIGGER staff_insupd ON staff FOR insert, UPDATE
AS
declare @min_lvl tinyint, @max_lvl tinyint, @lvl tinyint, @job smallint
select @min_lvl = min_lvl, @max_lvl = max_lvl, @lvl = i.job_lvl, @job = i.job_id
from staff e, jobs j, inserted i
where e.s_id = i.s_id AND i.job_id = j.job_id
IF (@job = 1) and (@lvl <> 10)
begin
	raiserror ('Job id 1 expects the default level of 10.', 16, 1)
	ROLLBACK TRANSACTION
end
ELSE
IF NOT (@lvl BETWEEN @min_lvl AND @max_lvl)
begin
	raiserror ('The level for job_id:%d should be between %d and %d.', 16, 1, @job, @min_lvl, @max_lvl)
	ROLLBACK TRANSACTION
end
GO
insert jobs values ('New Hire', 10, 10)
insert jobs (job_desc, min_lvl, max_lvl) values ('Editor', 25, 100)
insert writers values ('409-56-7008', 'Bennet', '415 658-9932', '94705', 1)
insert writers (w_id, w_name, contract) values ('213-46-8915', 'Green', 0)
insert staff values ('PMA42628M', 1, 10, '08/27/92')
insert staff values ('PSA89086M', 2, 89, '12/24/90')
GO
CREATE CLUSTERED INDEX staff_ind ON staff(hired, s_id)
GO
CREATE VIEW writerview AS select w_name, phone from writers where contract = 1
GO
CREATE PROCEDURE bylevel @level int AS
select s_id from staff where job_lvl = @level
GO
GRANT EXECUTE ON bylevel TO public
GRANT SELECT ON writers TO public
GO
UPDATE STATISTICS staff
GO
