//! Two processes on one store, and a writer that is killed. The other process is this test binary again,
//! started with one ignored test in the folder that an environment variable names.

use super::*;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(super) const FOLDER: &str = "WSNODE_TEST_FOLDER";
const SMALL_MAP: usize = 1 << 20;

pub(super) fn start(test: &str, folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = format!("state::tests::{test}");
    command.args(["--ignored", "--exact", &test]).env(FOLDER, folder);
    command.stdout(Stdio::null()).spawn().unwrap()
}

pub(super) fn wait_for(path: &Path) {
    let begin = Instant::now();
    while !path.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{path:?} does not appear");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_reader_follows_a_writer_whose_map_grows() {
    let folder = Folder::new();
    let path = folder.0.join("state");
    let mut chain = Chain::with_map(&path, 40, SMALL_MAP);
    let mut reader = start("processes::other_process_reads", &folder.0);
    wait_for(&folder.0.join("reading"));
    let code = vec![7; 4 * SMALL_MAP];
    chain.store.write(|txn, tables| Ok(tables.code.put(txn, &[0; 32], &code)?)).unwrap();
    chain.advance();
    chain.store.commit().unwrap();
    assert!(chain.store.environment.file_size().unwrap() > SMALL_MAP as u64);
    // The file is renamed into place, so that the reader finds it with its content.
    std::fs::write(folder.0.join("draft"), chain.store.head().state_root).unwrap();
    std::fs::rename(folder.0.join("draft"), folder.0.join("grown")).unwrap();
    assert!(reader.wait().unwrap().success());
}

#[test]
#[ignore = "started by the test above"]
fn other_process_reads() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let store = opened(&folder.join("state"), false, SMALL_MAP).unwrap();
    assert_eq!(store.committed_head().unwrap().number, 0);
    std::fs::write(folder.join("reading"), "").unwrap();
    wait_for(&folder.join("grown"));
    let head = store.committed_head().unwrap();
    assert_eq!(head.state_root.to_vec(), std::fs::read(folder.join("grown")).unwrap());
    let view = at(&store, 0);
    assert!(view.account(address(1)).unwrap().is_some());
    assert_eq!(store.head(), head);
}

#[test]
fn a_killed_writer_leaves_its_last_commit() {
    for delay in [1, 20, 50, 90, 140] {
        let folder = Folder::new();
        let path = folder.0.join("state");
        std::fs::create_dir_all(&folder.0).unwrap();
        let mut writer = start("processes::other_process_writes", &folder.0);
        wait_for(&folder.0.join("writing"));
        std::thread::sleep(Duration::from_millis(delay));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let store = opened(&path, true, 1 << 30).unwrap();
        let head = store.head();
        let again = Folder::new();
        let mut expected = Chain::new(&again.0, 41);
        while expected.number() < head.number {
            expected.advance();
        }
        assert_eq!(head.state_root, root_of(expected.head()));
        let mut chain = Chain { store, ..expected };
        chain.check_history();
        chain.advance();
    }
}

#[test]
#[ignore = "started by the test above"]
fn other_process_writes() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let mut chain = Chain::new(&folder.join("state"), 41);
    std::fs::write(folder.join("writing"), "").unwrap();
    for number in 0..100_000 {
        chain.advance();
        if number % 3 == 0 {
            chain.store.commit().unwrap();
        }
    }
}
